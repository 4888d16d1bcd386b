/** Serves MCP on stdio: starts at once, builds the workflow on first use, and stops in time. */
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { readConfig } from "../config/config.ts";
import { unknownVariableWords } from "../config/unknown-variables.ts";
import { createLog, type Log } from "../log.ts";
import { createDetector, createRedact } from "../redaction.ts";
import { instructionsFor, SANDBOX_NOTE } from "../server/instructions.ts";
import { createMcpServer } from "../server/mcp-server.ts";
import { StdioWire } from "../server/stdio-wire.ts";
import { secretsOf, unmistakableSecretsOf } from "./configuration-error.ts";
import { LazyGeneration, sandboxEnvironment } from "./lazy-generation.ts";

/** A client that is gone must not wait for us, whatever hangs (docs/reference.md, Stopping). */
const STOP_WITHIN_MS = 1500;

/** Any delay that Node takes. */
const FOR_EVER_MS = 2 ** 31 - 1;

/** What is wrong with a line that is no protocol can take pages. */
const MOST_OF_A_COMPLAINT = 300;

/** A client that goes on and on with lines that are no message must not fill the log. */
const MOST_REFUSALS_TOLD = 5;

/** Tells of the first lines that were no message; of further ones only somebody who looks for faults. */
function refusalTeller(log: Log): (sentence: string) => void {
  let told = 0;
  return (sentence) => {
    told += 1;
    const words = `a line of the client was refused: ${sentence}`;
    if (told > MOST_REFUSALS_TOLD) log.debug(words);
    else if (told < MOST_REFUSALS_TOLD) log.warn(words);
    else log.warn(`${words} Further ones are told at the level debug alone.`);
  };
}

/** A question that is answered with yes once. */
function onceOnly(): () => boolean {
  let isFirst = true;
  return () => {
    const answer = isFirst;
    isFirst = false;
    return answer;
  };
}

/** One that is too long has ended the connection. */
const hasEndedConnection = (complaint: string): boolean => complaint.includes("exceeded");

/** Files are closed within that, or their disk no longer answers. */
const FILES_WITHIN_MS = 200;

/** Exits. Node waits for its threads first, and one that asks a disk that is gone never comes back: then without it. */
function leave(code: number): void {
  const waitsForFiles = (): boolean =>
    process.getActiveResourcesInfo().some((resource) => resource.startsWith("FSReq"));
  if (!waitsForFiles()) process.exit(code);
  setTimeout(() => {
    if (waitsForFiles()) process.kill(process.pid, "SIGKILL");
    process.exit(code);
  }, FILES_WITHIN_MS);
}

/** Stops once, on whatever comes first, and always exits. */
function stopOn(log: Log, stop: () => Promise<void>): (code: number) => void {
  let isStopping = false;
  return (code) => {
    if (isStopping) return;
    isStopping = true;
    setTimeout(() => leave(code), STOP_WITHIN_MS);
    stop()
      .catch((cause: unknown) => log.warn("stopping was not clean", cause))
      .finally(() => leave(code));
  };
}

export function serve(isSandbox: boolean): void {
  const config = readConfig(isSandbox ? sandboxEnvironment(process.env) : process.env);
  const lazy = new LazyGeneration(config, isSandbox);
  const redact = createRedact(secretsOf(process.env));
  const log = createLog(config.logLevel, (text) => lazy.redact(redact(text)));
  lazy.log = log;
  const isFirstSuccess = onceOnly();
  const isFirstUse = onceOnly();
  const isFirstOnSandbox = onceOnly();
  const instructions = instructionsFor({ ...config, isSandbox });
  const handle = serveStdio(
    ({ era }) =>
      createMcpServer(
        {
          tools: {
            assertConfigured: () => {
              if (isFirstUse())
                for (const each of config.unknownVariables) log.warn(unknownVariableWords(each));
              lazy.assertConfigured();
            },
            generation: () => lazy.get(),
            knownGeneration: () => lazy.knownGeneration(),
            narrations: () => lazy.narrations(),
            // Few calls name a file, so its code is loaded by the first of them.
            readInput: async (file) => {
              const { readInputFile } = await import("../files/input-folder.ts");
              return await readInputFile(config.inputDir, file);
            },
            isFirstSuccess,
            pronunciations: config.pronunciations.rules,
            voiceNotes: config.voiceNotes.notes,
            defaultVoice: config.defaultVoice,
            defaultWaitSeconds: config.waitSeconds,
          },
          openLedger: () => lazy.openLedger(),
          instructions,
          redact: (text) => lazy.redact(redact(text)),
          holdsSecret: createDetector(unmistakableSecretsOf(process.env)),
          resourceLinks: config.resourceLinks,
          note: () => (isSandbox && isFirstOnSandbox() ? SANDBOX_NOTE : null),
          log,
        },
        era,
      ),
    {
      transport: new StdioWire(process.stdin, process.stdout, refusalTeller(log)),
      onerror: (error) => {
        const complaint = error.message.slice(0, MOST_OF_A_COMPLAINT);
        if (!hasEndedConnection(complaint)) return log.debug(`protocol: ${complaint}`);
        // A person may wonder where the server has gone.
        log.error(`the client's message was too large, stopping: ${complaint}`);
        stop(0);
      },
    },
  );
  // A host may hand over a standard input that keeps no process alive (Electron's utility processes do).
  setInterval(() => undefined, FOR_EVER_MS);
  const stop = stopOn(log, async () => {
    await Promise.all([handle.close(), lazy.close()]);
  });
  process.stdin.once("end", () => stop(0));
  process.stdin.once("close", () => stop(0));
  process.stdin.once("error", () => stop(0));
  process.stdout.once("error", () => stop(0));
  process.stdout.once("close", () => stop(0));
  // Again and again: a host and a terminal may both send one, and the second must not end what the first has begun.
  process.on("SIGTERM", () => stop(0));
  process.on("SIGINT", () => stop(0));
  process.on("SIGHUP", () => stop(0));
  // Nobody reads the log any more: no reason to stop, and nowhere to say so.
  process.stderr.on("error", () => undefined);
  process.on("unhandledRejection", (cause) => log.error("an unhandled rejection", cause));
  process.on("uncaughtException", (cause) => {
    log.error("an uncaught error; stopping, the ledger keeps what was accepted", cause);
    stop(1);
  });
}
