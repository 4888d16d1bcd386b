/** The MCP Inspector's own web page shows the player beside a result of the built bin, over stdio. */
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import type { Browser, Frame, Page } from "playwright-core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { cachedTool } from "../../scripts/cached-packages.ts";
import { BIN, NODE } from "../support/bin-under-test.ts";
import { createTestFolders, type TestFolders } from "../support/test-folders.ts";
import { launch, listenIn } from "./chat-host.ts";
import { playButton, startsSounding } from "./player-view.ts";

let testFolders: TestFolders;
let browser: Browser;
let inspector: ChildProcess;
let address = "";

beforeAll(async () => {
  testFolders = await createTestFolders();
  const env = {
    ...testFolders.env(null),
    MCP_STORAGE_DIR: `${testFolders.root}/inspector`,
    MCP_INSPECTOR_SECRET_STORE: "memory",
    MCP_AUTO_OPEN_ENABLED: "false",
    CLIENT_PORT: "6391",
    HOST: "127.0.0.1",
  };
  const settings = Object.entries(testFolders.env(null)).flatMap(([name, value]) => [
    "-e",
    `${name}=${value}`,
  ]);
  const args = [cachedTool("inspector"), "--web", ...settings, "--", NODE, BIN, "--sandbox"];
  inspector = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "ignore"] });
  if (inspector.stdout === null) throw new Error("the Inspector has no output");
  for await (const line of createInterface({ input: inspector.stdout })) {
    address = /http:\/\/\S+MCP_INSPECTOR_API_TOKEN=\S+/.exec(line)?.[0] ?? "";
    if (address !== "") break;
  }
  browser = await launch();
});
afterAll(async () => {
  await browser?.close();
  inspector?.kill();
  await testFolders.remove();
});

/** Finds the player's frame, which is inside the Inspector's own frame. */
async function playerIn(page: Page): Promise<Frame> {
  for (let tries = 0; tries < 100; tries += 1) {
    for (const frame of page.frames()) {
      if (
        (await frame
          .locator("#wave")
          .count()
          .catch(() => 0)) > 0
      )
        return frame;
    }
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error("the Inspector shows no player");
}

it("shows the player, which plays", async () => {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  await page.addInitScript(listenIn);
  await page.goto(address);
  await page.getByRole("switch", { name: /Connect/ }).click({ force: true });
  await page.getByText("Apps", { exact: true }).first().click();
  await page.getByText("Generate audio").first().click();
  await page
    .getByRole("textbox", { name: "prompt" })
    .first()
    .fill("Heard in the Inspector, and nowhere else.");
  await page.getByRole("button", { name: "Open App" }).click();
  const player = await playerIn(page);
  await playButton(player).click({ timeout: 30_000 });
  await startsSounding(player);
  expect(await player.locator("#title").textContent()).toMatch(/^Heard-in-the-Inspector.*\.mp3$/);
});
