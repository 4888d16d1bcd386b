/** Serves MCP on stdio. Builds the workflow on first use, and stops within a time limit. */
import type { Readable, Writable } from "node:stream";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { MAX_TIMER_MS } from "../clock.ts";
import { describeUnknownVariable } from "../config/unknown-variables.ts";
import type { Environment } from "../environment.ts";
import { AudioError } from "../errors.ts";
import type { Log } from "../log.ts";
import { createDetector } from "../redaction.ts";
import { renderInstructions, SANDBOX_NOTE } from "../server/instructions.ts";
import { LenientStdioTransport } from "../server/lenient-stdio-transport.ts";
import { createMcpServer } from "../server/mcp-server.ts";
import type { ServerDeps } from "../server/run-tool.ts";
import type { ToolDeps } from "../tools/tool.ts";
import { WorkflowProvider } from "./workflow-provider.ts";

/** Time limit for stopping, whatever hangs (docs/reference-requests.md, Stopping). */
const STOP_TIMEOUT_MS = 1500;

/** How long requests that were read before the end of the input may take, before they are answered with an error. */
const ANSWERS_MS = 1000;
/** Time for the error results of the requests that took longer. */
const LAST_ANSWERS_MS = 200;
/** What is left for stopping after that, so that the process ends within 2 s. */
const STOP_AFTER_ANSWERS_MS = 600;

/** The error for calls that are open when the client closes its end. */
const inputEndedError = (): AudioError =>
  new AudioError("timeout", "The client closed its end before this call was done.", {
    retryable: true,
    remedy:
      "Nothing is lost: what the service has accepted stays recorded. Repeat the same call: it finds what was accepted and pays nothing twice.",
  });

/** Printed to a person who starts the server in a terminal. Without this text, the server would seem to hang. */
const WAITS_FOR_CLIENT =
  "This is an MCP server, which waits for a client on standard input. Put this command into your client's configuration, or see --help for commands of a terminal. Ctrl-C ends it.\n";

/** Maximum number of logged characters of a protocol error. The error about an invalid line can be pages long. */
const MAX_ERROR_CHARACTERS = 300;

/**
 * Maximum number of invalid lines that are logged as warnings. A client that keeps sending invalid lines must not fill
 * the log.
 */
const MAX_LOGGED_INVALID_LINES = 5;

/** Creates a function that logs the first invalid lines as warnings, and later lines only at the level debug. */
function createInvalidMessageLogger(log: Log): (sentence: string) => void {
  let count = 0;
  return (sentence) => {
    count += 1;
    const words = `ignored an invalid line from the client: ${sentence}`;
    if (count > MAX_LOGGED_INVALID_LINES) log.debug(words);
    else if (count < MAX_LOGGED_INVALID_LINES) log.warn(words);
    else log.warn(`${words} Further ones are logged at the level debug alone.`);
  };
}

/** Creates a function that returns true only on its first call. */
function createOnceFlag(): () => boolean {
  let isFirst = true;
  return () => {
    const answer = isFirst;
    isFirst = false;
    return answer;
  };
}

/** How long to wait for pending file operations. After this time, the disk is assumed to hang. */
const FILE_GRACE_MS = 200;

/**
 * Exits. Kills the process with SIGKILL if a worker thread is stuck on a dead disk, because `process.exit()` would wait
 * for that thread.
 */
function exitProcess(code: number): void {
  const waitsForFiles = (): boolean =>
    process.getActiveResourcesInfo().some((resource) => resource.startsWith("FSReq"));
  if (!waitsForFiles()) process.exit(code);
  setTimeout(() => {
    if (waitsForFiles()) process.kill(process.pid, "SIGKILL");
    process.exit(code);
  }, FILE_GRACE_MS);
}

type Stopper = (code: number, timeoutMs?: number) => void;

/**
 * Returns a function that stops the server and exits the process, even if stopping fails or hangs. Only the first call
 * of the function has an effect.
 */
function createStopper(log: Log, stop: () => Promise<void>): Stopper {
  let isStopping = false;
  return (code, timeoutMs = STOP_TIMEOUT_MS) => {
    if (isStopping) return;
    isStopping = true;
    setTimeout(() => exitProcess(code), timeoutMs);
    stop()
      .catch((cause: unknown) => log.warn("stopping was not clean", cause))
      .finally(() => exitProcess(code));
  };
}

function buildToolDeps(provider: WorkflowProvider): ToolDeps {
  const { config, log } = provider;
  const claimFirstUse = createOnceFlag();
  return {
    assertConfigured: () => {
      if (claimFirstUse())
        for (const each of config.unknownVariables) log.warn(describeUnknownVariable(each));
      provider.assertConfigured();
    },
    requests: () => provider.requests(),
    openExistingRequests: () => provider.openExistingRequests(),
    narrations: () => provider.narrations(),
    // Load `input-folder.ts` on demand, because few calls name an input file.
    readInput: async (file) => {
      const { readInputFile } = await import("../files/input-folder.ts");
      return await readInputFile(config.inputDir, file);
    },
    takeFirstSuccess: createOnceFlag(),
    pronunciations: config.pronunciations.rules,
    voiceNotes: config.voiceNotes.notes,
    defaultVoice: config.defaultVoice,
    defaultWaitSeconds: config.waitSeconds,
  };
}

/**
 * Calls `stop` when the client closes a stream, at a signal, and after an error that nothing has caught.
 *
 * @param stopAfterAnswers stops once the requests that were read are answered
 */
function stopWhenAsked(stop: Stopper, stopAfterAnswers: () => void, log: Log): void {
  process.stdin.once("end", stopAfterAnswers);
  process.stdin.once("close", stopAfterAnswers);
  process.stdin.once("error", () => stop(0));
  process.stdout.once("error", () => stop(0));
  process.stdout.once("close", () => stop(0));
  // Use `on` instead of `once`: host and terminal may both send a signal, and the second signal must not kill a process
  // that is stopping.
  process.on("SIGTERM", () => stop(0));
  process.on("SIGINT", () => stop(0));
  process.on("SIGHUP", () => stop(0));
  // A closed stderr is no reason to stop.
  process.stderr.on("error", () => undefined);
  process.on("unhandledRejection", (cause) => log.error("an unhandled rejection", cause));
  process.on("uncaughtException", (cause) => {
    log.error("an uncaught error; stopping, the ledger keeps what was accepted", cause);
    stop(1);
  });
}

/** Where a server reads its settings, and the streams that it uses. */
export interface ServerHost {
  readonly env: Environment;
  readonly input: Readable;
  readonly output: Writable;
  /** Writes a line of the log. */
  readonly writeLog: (line: string) => void;
}

/**
 * Starts an MCP server on two streams. Several may run in one process.
 *
 * @param isSandbox whether to use a private sandbox instead of the service (`--sandbox`)
 */
export function startServer({ env, input, output, writeLog }: ServerHost, isSandbox: boolean) {
  const provider = new WorkflowProvider(env, isSandbox, writeLog);
  const { config, log, redact } = provider;
  const claimFirstSandboxUse = createOnceFlag();
  const stopping = new AbortController();
  const serverDeps: ServerDeps = {
    toolDeps: buildToolDeps(provider),
    openLocalRequests: () => provider.openLocalRequests(),
    ledger: () => provider.ledger(),
    instructions: renderInstructions({ ...config, isSandbox }),
    redact,
    containsSecret: createDetector(config.certainSecrets),
    resourceLinks: config.resourceLinks,
    stopping: stopping.signal,
    takeNextResultNote: () => (isSandbox && claimFirstSandboxUse() ? SANDBOX_NOTE : null),
    log,
  };
  const onInvalidMessage = createInvalidMessageLogger(log);
  const transport = new LenientStdioTransport(input, output, onInvalidMessage);
  const handle = serveStdio(({ era }) => createMcpServer(serverDeps, era), {
    transport,
    onerror: (error) => log.debug(`protocol: ${error.message.slice(0, MAX_ERROR_CHARACTERS)}`),
  });
  return {
    log,
    /** Waits for the answers to what was read, after the end of the input; late ones become errors. */
    finishAnswers: async (): Promise<void> => {
      await transport.waitForAnswers(ANSWERS_MS);
      stopping.abort(inputEndedError());
      await transport.waitForAnswers(LAST_ANSWERS_MS);
    },
    /** Stops the server: ends its calls, the workflow and the sandbox. */
    close: async (): Promise<void> => {
      await Promise.all([handle.close(), provider.close()]);
    },
  };
}

/**
 * Serves MCP on standard input and output. Returns at once, and keeps the process running until the client closes the
 * connection, a signal such as SIGTERM arrives, or an uncaught error occurs. Then exits the process. Invalid settings
 * do not stop the server, because its tools report them. Builds the workflow only at the first call that needs it.
 *
 * @param isSandbox whether to use a private sandbox in place of the configured service
 */
export function runServer(isSandbox: boolean): void {
  const { log, finishAnswers, close } = startServer(
    {
      env: process.env,
      input: process.stdin,
      output: process.stdout,
      writeLog: (line) => void process.stderr.write(line),
    },
    isSandbox,
  );
  // Keep the process alive with a timer. On some hosts, such as Electron's utility processes, an open standard input
  // does not keep it alive.
  setInterval(() => undefined, MAX_TIMER_MS);
  const stop = createStopper(log, close);
  const claimEnd = createOnceFlag();
  const stopAfterAnswers = (): void => {
    if (claimEnd()) void finishAnswers().finally(() => stop(0, STOP_AFTER_ANSWERS_MS));
  };
  stopWhenAsked(stop, stopAfterAnswers, log);
  // Print the message about Ctrl-C only after the signal handlers are set.
  if (process.stdin.isTTY) process.stderr.write(WAITS_FOR_CLIENT);
}
