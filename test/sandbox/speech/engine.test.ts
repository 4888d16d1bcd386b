/**
 * The threads of the speech engine: equal requests give equal bytes, the engine survives crashes and hangs of a thread,
 * and no thread keeps the process alive.
 */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, expect, test } from "vitest";
import { createSpeechEngine } from "../../../src/sandbox/speech/speech.ts";
import { SpeechWorker } from "../../../src/sandbox/speech/worker-handle.ts";
import { speechRequest } from "./speech-request.ts";

const engine = createSpeechEngine();
afterAll(() => engine.close());

function misbehavingWorker(onMessage: string, timeoutMs: number): SpeechWorker {
  const source = `import { parentPort } from "node:worker_threads"; parentPort.on("message", () => { ${onMessage} });`;
  return new SpeechWorker(new URL(`data:text/javascript,${encodeURIComponent(source)}`), timeoutMs);
}

/** Returns an engine whose first thread misbehaves. The engine's other threads work. */
function engineWithBadStart(onMessage: string) {
  // Only a thread that hangs needs the short time limit. The other faults are reported, even if a busy machine is slow.
  const first = misbehavingWorker(onMessage, onMessage.startsWith("for") ? 500 : 20_000);
  const workers = [first];
  return createSpeechEngine(() => workers.shift() ?? new SpeechWorker());
}

test.each(["mp3", "ogg_opus"] as const)(
  "determinism %s: a request gives the same bytes on all threads",
  async (format) => {
    const request = speechRequest({ output_format: format, voice: "magnus_en_zh", pitch: 3, speed: 1.3 });
    const fresh = createSpeechEngine();
    const spoken = await Promise.all([engine.speak(request), engine.speak(request), fresh.speak(request)]);
    await fresh.close();
    const again = await engine.speak(request);
    for (const { bytes } of spoken) expect(Buffer.compare(bytes, again.bytes)).toBe(0);
  },
);

test("determinism earlier speech of a thread does not change the next", async () => {
  const request = speechRequest({ prompt: "Gulls, ropes, and a kettle.", voice: "sophie_en_zh" });
  const oneThread = () => {
    const worker = new SpeechWorker();
    return createSpeechEngine(() => worker);
  };
  const [fresh, used] = [oneThread(), oneThread()];
  for (const voice of ["quentin_en_zh", "sophie_en_zh", "stokie_en"] as const) {
    await used.speak(speechRequest({ prompt: "Other words, many of them. ".repeat(9), voice, pitch: 7 }));
  }
  const [expected, spoken] = await Promise.all([fresh.speak(request), used.speak(request)]);
  expect(Buffer.compare(spoken.bytes, expected.bytes)).toBe(0);
  await Promise.all([fresh.close(), used.close()]);
});

test.each([
  ["a crash", "throw new Error('no more')", /crashed/],
  ["an exit", "process.exit(3)", /ended with code 3/],
  ["a hang", "for (;;);", /took longer/],
  ["nonsense", "parentPort.postMessage({ outcome: 'sung' })", /no intelligible answer/],
])("failure %s rejects the request, and the next one is spoken", async (_kind, onMessage, message) => {
  const shaky = engineWithBadStart(onMessage);
  await expect(shaky.speak(speechRequest())).rejects.toThrow(message);
  await expect(shaky.speak(speechRequest())).resolves.toHaveProperty("audioSeconds");
  await shaky.close();
});

test("a request that waits is dropped when its caller has cancelled", async () => {
  const busy = createSpeechEngine();
  const spoken = [busy.speak(speechRequest()), busy.speak(speechRequest())];
  const gone = new AbortController();
  const dropped = busy.speak(speechRequest(), gone.signal);
  gone.abort(new Error("nobody listens"));
  await expect(dropped).rejects.toThrow("nobody listens");
  for (const { audioSeconds } of await Promise.all(spoken)) expect(audioSeconds).toBeGreaterThan(0);
  await busy.close();
});

test("close rejects pending and later requests", async () => {
  const closing = createSpeechEngine();
  const pending = Array.from({ length: 4 }, () => closing.speak(speechRequest()));
  const settled = Promise.allSettled(pending);
  await closing.close();
  for (const { status } of await settled) expect(status).toBe("rejected");
  await expect(closing.speak(speechRequest())).rejects.toThrow(/closed/);
});

test("the process ends by itself after speaking, without close", async () => {
  const script = fileURLToPath(new URL("./speak-and-end.ts", import.meta.url));
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [script], { timeout: 15_000 });
  expect(stdout.trim()).toMatch(/^\d+\.\d+$/);
  expect(stderr).toBe("");
});
