/** `tasks --html FILE`: the ledger as a web page with players. Overwrites only its own pages. */
import { mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { beforeEach, describe, expect, it } from "vitest";
import { type PageEntry, renderAudioPage } from "../../src/commands/tasks-page.ts";
import { buildText, openNarratorEach, paragraph } from "../narration/narrator.ts";
import { openFoldersEach, openServiceEach } from "../support/e2e-setup.ts";
import { type EndedCommand, runCommand } from "../support/run-command.ts";
import { startToolClient } from "../support/tool-client.ts";
import { generate, type TaskOutput } from "../support/tool-result.ts";

const FAST = { AUDIO_TIME_SCALE: "0.001" };
const HOSTILE = `<img src=x onerror="alert(1)"> & 'quoted' </style><script>alert(2)</script>`;

describe("tasks --html", () => {
  let made: TaskOutput;
  let file: string;
  const service = openServiceEach();
  const testFolders = openFoldersEach();

  beforeEach(async () => {
    file = join(testFolders.root, "tasks.html");
    const client = await startToolClient(testFolders.env(service, FAST));
    made = await generate(client, { prompt: HOSTILE, voice: "felix_zh", file_name: "it's #1" });
    await client.call("generate_audio", { prompt: "Another one", output_format: "pcm" });
    await client.close();
  });

  const tasks = async (...args: string[]): Promise<EndedCommand> =>
    await runCommand(["tasks", ...args], testFolders.env(service, FAST));

  it("isolates bidirectional characters of a prompt", async () => {
    const client = await startToolClient(testFolders.env(service, FAST));
    await client.call("generate_audio", { prompt: "\u202eturned\u202c and \u2067more" });
    await client.close();
    expect((await tasks("--html", file)).code).toBe(0);
    expect(readFileSync(file, "utf8")).toContain("<p><bdi>\u202eturned\u202c and \u2067more</bdi></p>");
  });

  it("contains the requests, the cost by day and voice, and a player for each playable file", async () => {
    expect(await tasks("--html", file)).toEqual({ code: 0, stdout: `Written: ${file}\n`, stderr: "" });
    const page = readFileSync(file, "utf8");
    const src = pathToFileURL(made.audio?.path ?? "").href.replaceAll("'", "&#39;");
    expect(page).toContain(`<audio controls preload="none" src="${src}"`);
    expect(page.match(/<audio /g)).toHaveLength(1);
    expect(page).toMatch(/Cost by day.*<dt>\d{4}-\d\d-\d\d<\/dt>.*Cost by voice.*<dt>felix_zh<\/dt>/s);
    expect(page).toContain("&lt;img src=x onerror=&quot;alert(1)&quot;&gt; &amp; &#39;quoted&#39;");
    expect(page).not.toMatch(/<img|<script|https?:/);
    expect(statSync(file).mode & 0o077).toBe(0);
  });

  it("overwrites only its own page", async () => {
    expect((await tasks("--html", file)).code).toBe(0);
    writeFileSync(file, `${readFileSync(file, "utf8")}<!-- older -->`);
    expect((await tasks("--html", file)).code).toBe(0);
    expect(readFileSync(file, "utf8")).not.toContain("older");

    const [foreignPath, link, folder] = ["mine.html", "link.html", "folder.html"].map((name) =>
      join(testFolders.root, name),
    );
    writeFileSync(foreignPath ?? "", "<!doctype html><p>mine");
    symlinkSync(file, link ?? "");
    mkdirSync(folder ?? "");
    for (const [path, why] of [
      [foreignPath, "was not written by this command"],
      [link, "is a symbolic link"],
      [folder, "is not a file that can be read"],
    ]) {
      const { code, stderr } = await tasks("--html", path ?? "");
      expect(code).toBe(1);
      expect(stderr).toContain(`${path} ${why}; it stays as it is.`);
    }
    expect(readFileSync(foreignPath ?? "", "utf8")).toBe("<!doctype html><p>mine");
  });

  it("reports where it cannot write, and what the option needs", async () => {
    const { stderr } = await tasks("--html", join(testFolders.root, "nowhere", "tasks.html"));
    expect(stderr).toContain("cannot be written (ENOENT)");
    expect(await tasks("--html", file, "--json")).toMatchObject({ code: 2 });
    expect(await tasks("--html", "")).toMatchObject({ code: 2 });
  });
});

describe("a task that a narration and a request share", () => {
  const narrator = openNarratorEach();

  it("counts once in the totals, and is shown with both", async () => {
    const done = await narrator.narrate({ text: buildText("One", "Two"), max_credits: 1000 });
    expect(done.credits.charged).toBe(20);
    await generate(narrator.client, { prompt: paragraph("One"), output_format: "pcm" });
    expect(narrator.service.count("create")).toBe(2);
    await narrator.narrate({ text: buildText("Never made") });
    const file = join(narrator.testFolders.root, "tasks.html");
    const env = narrator.testFolders.env(narrator.service, FAST);
    expect((await runCommand(["tasks", "--html", file], env)).code).toBe(0);
    const page = readFileSync(file, "utf8");
    expect(page).toContain("2 requests, 20 credits. 1 plan beside them costs nothing.");
    expect(page).toMatch(/Cost by voice<\/h2><dl><dt>the service&#39;s default<\/dt>.*<dd>20 credits<\/dd>/);
    expect(page).not.toContain("<dt>narration</dt>");
    expect(page).not.toContain("30 credits");
    expect(page.match(/ · 10 credits · /g)).toHaveLength(1);
    expect(page.match(/ · 20 credits · /g)).toHaveLength(1);
  });
});

describe("the page of many tasks", () => {
  const DAY_MS = 86_400_000;
  const entry = (index: number): PageEntry => ({
    description: `Text ${index}`,
    dateTime: new Date(1_700_000_000_000 - index * DAY_MS).toISOString(),
    status: "succeeded",
    credits: 3,
    charges: [{ fingerprint: `work:${index}`, voice: `voice_${index}`, credits: 3 }],
    seconds: 1,
    voice: `voice_${index}`,
    take: 1,
    id: `aud_${index}`,
    paths: [],
    missingPaths: [],
    next: "None.",
  });
  const entries = Array.from({ length: 40 }, (_, index) => entry(index));

  it("adds up to the total, with one row for the days and voices beyond the limit", () => {
    const page = renderAudioPage(entries);
    expect(page).toContain("40 requests, 120 credits.");
    expect(page).toMatch(/<dt>9 earlier days<\/dt>.*\n?.*<dd>27 credits<\/dd>/);
    expect(page).toMatch(/<dt>20 other voices<\/dt>.*<dd>60 credits<\/dd>/);
  });

  it("says that there are older requests that are not counted", () => {
    expect(renderAudioPage(entries, { hasOlder: true })).toContain(
      "The newest 40 requests, 120 credits. Older ones are neither shown nor counted here.",
    );
  });
});
