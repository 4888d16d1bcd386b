/** The player requests from a host only what the host supports, and says what is impossible in that host. */
import type { CallToolResult } from "@modelcontextprotocol/client";
import { expect, it } from "vitest";
import { type Chat, type ChatSettings, describeWithBrowser, InvalidMessageReply } from "./chat-host.ts";
import { PATH, saved, serving, tone } from "./made-up-sound.ts";
import { openPlayerSetup } from "./player-setup.ts";
import { isRead, messageOf, playButton } from "./player-view.ts";

const hostRequests = (chat: Chat, method: string): unknown[] =>
  chat.hostRequests.filter((one) => one.method === method);

const WITHOUT_TOOLS: ChatSettings["capabilities"] = { serverResources: {}, message: { text: {} } };

describeWithBrowser("a host", () => {
  const setup = openPlayerSetup();
  const sound = tone(4);

  it.concurrent("without server tools: a running task is not queried", async (test) => {
    const chat = await setup.chat(test, { capabilities: WITHOUT_TOOLS, answer: serving(sound) });
    const structuredContent = { task_id: "aud_1", status: "processing", message: "Being made." };
    await chat.result({ content: [], structuredContent });
    await messageOf(chat.player)
      .getByText(/^Being made\. It cannot be followed here\..* Ask the assistant how it stands\.$/)
      .waitFor();
    expect(hostRequests(chat, "tools/call")).toEqual([]);
  });

  it.concurrent("without server tools: a narration shows its table, and cannot be stopped here", async (test) => {
    const id = `nar_${"2".repeat(32)}`;
    let pollCount = 0;
    const chat = await setup.chat(test, {
      capabilities: WITHOUT_TOOLS,
      answer: async () => {
        pollCount += 1;
        const state = pollCount < 2 ? "running. Running: 1 of 2 parts saved." : "finished. Saved.";
        const rows = "| 1 | saved | 1 | a | 1 | 1 |  | hello |\n| 2 | not started | 1 |  |  |  |  | world |";
        return { contents: [{ uri: "audio://x", text: `Title\n\n${state}\n\n${rows}\n` }] };
      },
    });
    const running: CallToolResult = {
      content: [],
      structuredContent: {
        narration_id: id,
        status: "running",
        message: "Running: 0 of 2 parts saved.",
        parts: { total: 2, saved: 0 },
        files: [],
      },
    };
    await chat.result(running);
    await messageOf(chat.player).getByText("Running: 1 of 2 parts saved.").waitFor();
    expect(await chat.player.getByRole("button", { name: "Stop" }).isVisible()).toBe(false);
    await messageOf(chat.player)
      .getByText(/It cannot be followed here\./)
      .waitFor();
    expect(hostRequests(chat, "tools/call")).toEqual([]);
  });

  it.concurrent("without server tools: missing audio is requested by a message", async (test) => {
    const chat = await setup.chat(test, { capabilities: WITHOUT_TOOLS, answer: async () => ({}) });
    await chat.result(saved(sound.length, 4, { audio: null }));
    await chat.player.getByRole("button", { name: "Fetch the file" }).click();
    await messageOf(chat.player).getByText("Asked in the chat.").waitFor();
    expect(hostRequests(chat, "tools/call")).toEqual([]);
    expect(JSON.stringify(hostRequests(chat, "ui/message"))).toContain("task aud_1 with download_audio");
  });

  it.concurrent("without server tools and messages: no unavailable action is offered", async (test) => {
    const capabilities = { serverResources: {} };
    const chat = await setup.chat(test, { capabilities, answer: serving(sound) });
    await chat.result(saved(sound.length, 4, { audio: null, message: "Its file is elsewhere." }));
    await messageOf(chat.player).getByText("Its file is elsewhere.").waitFor();
    expect(await chat.player.getByRole("button").filter({ visible: true }).count()).toBe(0);

    await chat.result(saved(sound.length, 4));
    await playButton(chat.player).waitFor();
    await isRead(chat.player);
    expect(await chat.player.getByRole("button").filter({ visible: true }).allTextContents()).toEqual([""]);
    expect(hostRequests(chat, "tools/call")).toEqual([]);
  });

  it.concurrent("without server resources: no file is read, and the path is shown", async (test) => {
    const chat = await setup.chat(test, {
      capabilities: { serverTools: {} },
      answer: async () => {
        throw new InvalidMessageReply(-32601, "Method not found");
      },
    });
    await chat.result(saved(sound.length, 4));
    await messageOf(chat.player)
      .getByText(/The file is at the path below\.$/)
      .waitFor();
    expect(await chat.player.locator("#path").textContent()).toBe(`Saved as ${PATH}`);
    expect(hostRequests(chat, "resources/read")).toEqual([]);
  });
});
