/** Runs in the worker thread: receives requests and posts one answer to each. */
import { parentPort } from "node:worker_threads";
import { renderSpeech } from "./render.ts";
import { speechRequestSchema, UnspeakablePromptError, type WorkerAnswer } from "./speech-request.ts";

async function answer(message: unknown): Promise<WorkerAnswer> {
  try {
    return { outcome: "spoken", ...(await renderSpeech(speechRequestSchema.parse(message))) };
  } catch (error) {
    if (error instanceof UnspeakablePromptError) return { outcome: "unspeakable" };
    return { outcome: "failed", message: error instanceof Error ? error.message : String(error) };
  }
}

const port = parentPort;
if (port === null) throw new Error("the speech worker runs only as a worker thread");

port.on("message", async (message: unknown) => {
  const reply = await answer(message);
  const transfer =
    reply.outcome === "spoken" && reply.bytes.buffer instanceof ArrayBuffer ? [reply.bytes.buffer] : [];
  port.postMessage(reply, transfer);
});
