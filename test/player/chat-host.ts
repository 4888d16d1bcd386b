/** A browser with chats: Debian's chromium, the player's page under a content policy, and the official bridge. */
import { join } from "node:path";
import type { CallToolResult } from "@modelcontextprotocol/client";
import { type Browser, chromium, type Frame, type Page } from "playwright-core";
import { build } from "rolldown";
import { describe } from "vitest";
import { missing, skipBecause } from "../support/skip-because.ts";
import type { ChatOptions, ChatWindow, HostAnswer } from "./chat/chat-window.ts";

const CHROMIUM = process.env["CHROMIUM"] ?? "/usr/bin/chromium";

/**
 * `describe` for tests in a browser. A failed test runs a second time, because the player waits only ten seconds for
 * its host, and a machine that is busy with other tests can need longer.
 */
export function describeWithBrowser(name: string, tests: () => void): void {
  // Browsers are slow on a machine that is busy with other tests.
  describe(name, { timeout: 240_000, retry: 1, ...skipBecause(missing(CHROMIUM)) }, tests);
}

/**
 * The features of Chromium that are disabled. The suggestions below the address bar are a separate page, which nobody
 * sees here and which takes ten times as long as the chat. Chromium reads only its last list of disabled features, so
 * this list repeats those that Playwright disables.
 */
const WITHOUT = [
  ...["WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "WebUIOmniboxFullPopup", "AimEnabled"],
  ...["HttpsUpgrades", "HttpsFirstBalancedModeAutoEnable", "ThirdPartyStoragePartitioning", "PaintHolding"],
  ...["AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose", "MediaRouter", "LensOverlay"],
  ...["OptimizationHints", "NetworkTimeServiceQuerying", "PreconnectToSearch"],
];

export const launch = (): Promise<Browser> =>
  chromium.launch({
    executablePath: CHROMIUM,
    args: ["--no-sandbox", "--mute-audio", `--disable-features=${WITHOUT.join(",")}`],
  });

/** The policy that the specification requires of hosts if a page declares nothing. */
export const DEFAULT_POLICY =
  "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; media-src 'self' data:; connect-src 'none'; object-src 'none'; base-uri 'self'";

export const NO_MEDIA = DEFAULT_POLICY.replace("media-src 'self' data:", "media-src 'none'");

const CHAT = "http://chat.test/";
const VIEW = "http://view.test/player.html";

async function chatScript(): Promise<string> {
  const { output } = await build({
    input: join(import.meta.dirname, "chat", "chat.ts"),
    platform: "browser",
    write: false,
    logLevel: "silent",
    output: { format: "esm" },
  });
  return output[0].code;
}

let script: Promise<string> | undefined;

/** Answers the player's requests to its host. */
export type Answerer = (method: string, params: Record<string, unknown>) => Promise<unknown>;

/** An error in the form in which a server answers an invalid message. */
export class InvalidMessageReply extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

export interface Chat {
  readonly page: Page;
  /** The player's frame. */
  readonly player: Frame;
  /** All requests of the player, in order. */
  readonly hostRequests: Array<{ readonly method: string; readonly params: Record<string, unknown> }>;
  /** Faults of the player's page: errors, and requests to the network. */
  readonly faults: string[];
  result(result: CallToolResult): Promise<void>;
  input(args: Record<string, unknown>): Promise<void>;
  context(changes: ChatOptions["context"]): Promise<void>;
  teardown(): Promise<void>;
  post(message: unknown): Promise<void>;
  close(): Promise<void>;
}

export interface ChatSettings {
  readonly html: string;
  readonly answer: Answerer;
  readonly policy?: string;
  readonly context?: ChatOptions["context"];
  readonly capabilities?: ChatOptions["capabilities"];
  readonly width?: number;
  /** How many pixels a screenshot has for each pixel of the page, in each direction. */
  readonly deviceScaleFactor?: number;
  readonly hangs?: boolean;
}

const ALL = { serverTools: {}, serverResources: {}, downloadFile: {}, message: { text: {} } };

/**
 * Listens to a page in the browser. `loudness()` returns the loudest of the latest samples, and `soundState()`
 * describes what plays.
 */
export function listenIn(): void {
  const analysers: AnalyserNode[] = [];
  const elements = new Set<HTMLMediaElement>();
  const connect = AudioNode.prototype.connect;
  const listenTo = (node: AudioNode): void => {
    const analyser = new AnalyserNode(node.context, { fftSize: 2048 });
    Reflect.apply(connect, node, [analyser]);
    analysers.push(analyser);
  };
  const listening = function (this: AudioNode, ...args: unknown[]): unknown {
    const [to] = args;
    if (to instanceof AudioDestinationNode && to.context instanceof AudioContext) listenTo(this);
    return Reflect.apply(connect, this, args);
  };
  Object.assign(AudioNode.prototype, { connect: listening });
  let context: AudioContext | undefined;
  /** The address of the last sound of each element. A new sound has a new track, which needs its own listener. */
  const known = new WeakMap<HTMLMediaElement, string>();
  const play = HTMLMediaElement.prototype.play;
  HTMLMediaElement.prototype.play = function (this: HTMLMediaElement & { captureStream?(): MediaStream }) {
    const playing = play.call(this);
    elements.add(this);
    if (known.get(this) !== this.src && this.captureStream !== undefined) {
      known.set(this, this.src);
      context ??= new AudioContext();
      listenTo(new MediaStreamAudioSourceNode(context, { mediaStream: this.captureStream() }));
    }
    return playing;
  };
  const loudness = (): number =>
    analysers.reduce((most, analyser) => {
      const samples = new Float32Array(analyser.fftSize);
      analyser.getFloatTimeDomainData(samples);
      return samples.reduce((peak, sample) => Math.max(peak, Math.abs(sample)), most);
    }, 0);
  const soundState = () => ({
    contexts: analysers.map((node) => [node.context.state, node.context.currentTime]),
    elements: [...elements].map(({ paused, readyState, currentTime, error }) => [
      paused ? "paused" : "playing",
      readyState,
      currentTime,
      error?.message ?? null,
    ]),
  });
  Object.assign(globalThis, { loudness, soundState });
}

/** Opens a chat that shows the player, and waits until both have completed their handshake. */
export async function openChat(browser: Browser, settings: ChatSettings): Promise<Chat> {
  const { html, answer, policy = DEFAULT_POLICY, width = 560, hangs = false } = settings;
  const { deviceScaleFactor = 1 } = settings;
  script ??= chatScript();
  const code = await script;
  const page = await browser.newPage({ viewport: { width, height: 640 }, deviceScaleFactor });
  page.setDefaultTimeout(120_000);
  const hostRequests: Chat["hostRequests"] = [];
  const faults: string[] = [];
  page.on("pageerror", (error) => faults.push(`error: ${error.message}`));
  await page.route("**/*", async (route) => {
    const url = route.request().url();
    if (url === CHAT) {
      const body = `<!doctype html><html lang="en"><title>Chat</title><body style="margin:0"><script type="module">${code}</script>`;
      return await route.fulfill({ contentType: "text/html", body });
    }
    if (url === VIEW) {
      const headers = { "content-security-policy": policy };
      return await route.fulfill({ contentType: "text/html", headers, body: html });
    }
    faults.push(`a request to ${url}`);
    await route.abort();
  });
  await page.exposeFunction("askTest", async (request: string): Promise<string> => {
    const { method, params } = JSON.parse(request);
    hostRequests.push({ method, params });
    const reported: HostAnswer = await answer(method, params).then(
      (result) => ({ result }),
      (error) => ({
        error: {
          code: error instanceof InvalidMessageReply ? error.code : -32603,
          message: String(error.message),
        },
      }),
    );
    return JSON.stringify(reported);
  });
  await page.addInitScript(listenIn);
  const options: ChatOptions = {
    src: VIEW,
    capabilities: settings.capabilities ?? ALL,
    context: settings.context ?? {},
    hangs,
  };
  await page.addInitScript(`globalThis.chatOptions = ${JSON.stringify(options)}`);
  await page.goto(CHAT);
  const player = await page.waitForSelector("iframe").then((frame) => frame.contentFrame());
  if (player === null) throw new Error("the player has no frame");
  if (!hangs) await page.evaluate(() => (globalThis as unknown as ChatWindow).chat.initialized);
  else await player.waitForURL(VIEW);
  const inPage = <T>(act: (argument: T) => unknown, argument: T): Promise<void> =>
    page.evaluate(act as never, argument) as Promise<void>;
  return {
    page,
    player,
    hostRequests,
    faults,
    result: (result) => inPage((value) => (globalThis as unknown as ChatWindow).chat.result(value), result),
    input: (args) => inPage((value) => (globalThis as unknown as ChatWindow).chat.input(value), args),
    context: (changes) =>
      inPage((value) => (globalThis as unknown as ChatWindow).chat.context(value), changes),
    teardown: () => inPage(() => (globalThis as unknown as ChatWindow).chat.teardown(), null),
    post: (message) => inPage((value) => (globalThis as unknown as ChatWindow).chat.post(value), message),
    close: () => page.close(),
  };
}
