/**
 * The setup of most tests of the player: a browser, the built bin with its sandbox, and chats in the browser that use
 * this server.
 */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, type TestContext } from "vitest";
import { type Chat, type ChatSettings, launch, openChat } from "./chat-host.ts";
import { type ServerUnderTest, startServer } from "./server-under-test.ts";

export interface PlayerSetup {
  readonly browser: Browser;
  readonly server: ServerUnderTest;
  /**
   * Opens a chat that closes with the test.
   *
   * @param settings differences from a host that shows the served player and forwards everything to its server
   */
  chat(test: TestContext, settings?: Partial<ChatSettings>): Promise<Chat>;
}

/**
 * Opens one setup for all tests of the surrounding `describe`, and closes it after them.
 *
 * @param more settings of the server
 */
export function openPlayerSetup(more: Record<string, string> = {}): PlayerSetup {
  let browser: Browser | undefined;
  let server: ServerUnderTest | undefined;
  // The browser and the server are stored as soon as they run, so that each is closed even if the other does not start.
  const starts = [
    async () => {
      browser = await launch();
    },
    async () => {
      server = await startServer(more);
    },
  ];
  beforeAll(() => Promise.all(starts.map((start) => start())).then(() => undefined));
  afterAll(async () => {
    await browser?.close();
    await server?.close();
  });

  const there = <T>(value: T | undefined): T => {
    if (value === undefined) throw new Error("the setup is set only when the first test begins");
    return value;
  };
  return {
    get browser() {
      return there(browser);
    },
    get server() {
      return there(server);
    },
    chat: async ({ onTestFinished }, settings = {}) => {
      const { html, answer } = there(server);
      const opened = await openChat(there(browser), { html, answer, ...settings });
      onTestFinished(() => opened.close());
      return opened;
    },
  };
}
