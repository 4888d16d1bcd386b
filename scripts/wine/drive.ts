/** Runs inside Windows. Drives the server as a client would, and prints one line of JSON for each step. */
import { type ChildProcessWithoutNullStreams, execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const bin = join(import.meta.dirname, "dist", "main.js");
const work = join(import.meta.dirname, "work");
const outputDir = join(work, "out");
mkdirSync(work, { recursive: true });

type Json = { readonly [name: string]: unknown };
const isJson = (value: unknown): value is Json => typeof value === "object" && value !== null;
const at = (value: unknown, ...names: string[]): unknown =>
  names.reduce<unknown>((inner, name) => (isJson(inner) ? inner[name] : undefined), value);

const settings = (more: Record<string, string> = {}): NodeJS.ProcessEnv => ({
  ...process.env,
  AUDIO_OUTPUT_DIR: outputDir,
  AUDIO_STATE_DIR: join(work, "state"),
  AUDIO_TIME_SCALE: "0.01",
  ...more,
});

class Server {
  readonly child: ChildProcessWithoutNullStreams;
  readonly #waiting = new Map<number, (answer: Json) => void>();
  #lastId = 0;

  constructor(env: Record<string, string> = {}) {
    this.child = spawn(process.execPath, [bin], { env: settings(env), stdio: "pipe" });
    this.child.stdin.on("error", () => undefined);
    createInterface({ input: this.child.stdout }).on("line", (line) => {
      const answer: unknown = JSON.parse(line);
      if (isJson(answer)) this.#waiting.get(Number(answer["id"]))?.(answer);
    });
  }

  /** Sends a request. Ends the line as programs of Windows do. */
  request(method: string, params: Json): Promise<Json> {
    this.#lastId += 1;
    const id = this.#lastId;
    const line = `${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\r\n`;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`no answer to ${method}`)), 30_000);
      this.#waiting.set(id, (answer) => {
        clearTimeout(timer);
        resolve(answer);
      });
      this.child.stdin.write(line);
    });
  }

  async greet(): Promise<this> {
    const clientInfo = { name: "wine-test", version: "1.0.0" };
    await this.request("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo });
    return this;
  }

  async call(name: string, args: Json): Promise<Json> {
    const answer = await this.request("tools/call", { name, arguments: args });
    const result = answer["result"];
    if (!isJson(result) || result["isError"] === true) throw new Error(JSON.stringify(answer).slice(0, 400));
    return result;
  }

  end(): Promise<number | null> {
    const ended = new Promise<number | null>((resolve) => this.child.once("close", resolve));
    this.child.stdin.end();
    return ended;
  }
}

async function step(what: string, run: () => Promise<string> | string): Promise<void> {
  let outcome: Json;
  try {
    outcome = { what, ok: true, detail: await run() };
  } catch (error) {
    outcome = { what, ok: false, detail: error instanceof Error ? error.message : String(error) };
  }
  process.stdout.write(`${JSON.stringify(outcome)}\n`);
}

function expect(isSo: boolean, otherwise: string): void {
  if (!isSo) throw new Error(otherwise);
}

/** Returns the output of `doctor`, whatever its exit code is. */
function doctor(env: Record<string, string> = {}): string {
  try {
    return execFileSync(process.execPath, [bin, "doctor"], { env: settings(env), encoding: "utf8" });
  } catch (error) {
    return String(at(error, "stdout"));
  }
}

const story = { prompt: "Spoken on Windows", file_name: "Story" };
const audioOf = (result: Json): { path: string } => ({
  path: String(at(result, "structuredContent", "audio", "path")),
});

await step("Node", () => `${process.version} on ${process.platform}`);
const server = await new Server().greet();
let saved = { path: "" };
await step("a generation is saved", async () => {
  saved = audioOf(await server.call("generate_audio", story));
  expect(/^[A-Z]:\\.*\\Story\.mp3$/.test(saved.path), `an odd path: ${saved.path}`);
  return `${saved.path}, ${statSync(saved.path).size} bytes`;
});
await step("a repeat is the same task", async () => {
  const again = await server.call("generate_audio", story);
  expect(at(again, "structuredContent", "replayed") === true, "it was not replayed");
  return "replayed";
});
await step("the file is a resource, also in other spellings", async () => {
  const address = pathToFileURL(saved.path).href;
  const spellings = [
    address,
    address.replace(/^file:\/\/\/([A-Z]):/, (_, letter: string) => `file:///${letter.toLowerCase()}%3A`),
    pathToFileURL(join(dirname(saved.path), "STORY.MP3")).href,
  ];
  for (const uri of spellings) {
    const answer = await server.request("resources/read", { uri });
    expect(isJson(answer["result"]), `${uri}: ${JSON.stringify(answer["error"])}`);
  }
  return spellings.join(" ");
});
await step("a name of a device is refused", async () => {
  const { result } = await server.request("tools/call", {
    name: "generate_audio",
    arguments: { prompt: "A device", file_name: "NUL" },
  });
  expect(JSON.stringify(result).includes("invalid_file_name"), JSON.stringify(result));
  return "invalid_file_name";
});
await step("the server ends with its client", async () => `exit ${await server.end()}`);
await step("doctor passes and leaves nothing behind", () => {
  const said = doctor();
  expect(said.includes("Everything works."), said);
  expect(readdirSync(outputDir).join() === "Story.mp3", readdirSync(outputDir).join());
  return "Everything works.";
});
await step("a folder with a dot at the end takes audio", async () => {
  const dotted = await new Server({ AUDIO_OUTPUT_DIR: join(work, "dotted.") }).greet();
  const { path } = audioOf(await dotted.call("generate_audio", { prompt: "Dotted" }));
  await dotted.end();
  expect(existsSync(path), `${path} is not there`);
  return path;
});
await step("a path without a drive is a fault", () => {
  const said = doctor({ AUDIO_OUTPUT_DIR: "\\audio" });
  expect(said.includes("not a path with a drive or a server"), said);
  return "reported by doctor";
});
await step("--version works without a home", () => {
  const env = { ...settings(), USERPROFILE: "", HOME: "", LOCALAPPDATA: "" };
  return execFileSync(process.execPath, [bin, "--version"], { env, encoding: "utf8" }).trim();
});
await step("a killed generation is taken up by the next server", async () => {
  const slow = { prompt: "Killed on Windows", file_name: "Killed", wait_seconds: 30 };
  const killed = await new Server().greet();
  void killed.request("tools/call", { name: "generate_audio", arguments: slow }).catch(() => undefined);
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  const gone = new Promise((resolve) => killed.child.once("close", resolve));
  killed.child.kill("SIGKILL");
  await gone;
  const beganAtMs = performance.now();
  const next = await new Server().greet();
  const result = await next.call("generate_audio", slow);
  expect(at(result, "structuredContent", "status") === "succeeded", JSON.stringify(result).slice(0, 400));
  await next.end();
  expect(!readdirSync(outputDir).some((name) => name.startsWith(".")), "half a file was left");
  return `saved after ${Math.round(performance.now() - beganAtMs)} ms`;
});
process.exit(0);
