/** `narrate` and `say` at a shell: what they make, and what they say to a person while something is in the way. */
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeEach, expect, it } from "vitest";
import { buildText, PART_BYTES } from "../narration/narrator.ts";
import { FAST } from "../support/bin-under-test.ts";
import { openFoldersEach, openServiceEach } from "../support/e2e-setup.ts";
import {
  type EndedCommand,
  type RunningCommand,
  runCommand,
  startCommand,
  startCommandProcess,
} from "../support/run-command.ts";

let text: string;
const service = openServiceEach({ audioBytes: PART_BYTES, audioSeconds: 4 });
const testFolders = openFoldersEach();

beforeEach(async () => {
  text = join(testFolders.root, "text.md");
  writeFileSync(text, buildText("One", "Two"));
});

/** Words of an assistant, which nobody at a shell can follow. */
const ASSISTANT_WORDS =
  /the user|narration_id|task_id|max_credits|skip_failed|get_task|generate_audio|(?:the same|this) call again|client's settings/i;

const env = (more: Record<string, string>): Record<string, string> =>
  testFolders.env(service, { ...FAST, ...more });

const start = (args: readonly string[], more: Record<string, string> = {}): RunningCommand =>
  startCommand(args, env(more));

async function run(args: readonly string[], more: Record<string, string> = {}): Promise<EndedCommand> {
  const ended = await runCommand(args, env(more));
  expect(`${ended.stdout}${ended.stderr}`).not.toMatch(ASSISTANT_WORDS);
  return ended;
}

const narrate = (...more: string[]): readonly string[] => [
  "narrate",
  text,
  "--output-format",
  "pcm",
  ...more,
];

const narrateAway = (): readonly string[] => narrate("--max-credits", "600");

it("say makes one file of one text, and costs nothing the second time", async () => {
  const args = ["say", "Good morning.", "--output-format", "pcm", "--file-name", "hello"];
  const path = join(testFolders.outputDir, "hello.pcm");
  expect(await run(args)).toMatchObject({
    code: 0,
    stdout: `${path}\n4 s of audio. Cost 10 credits (140 of 150 returned).\n`,
  });
  expect((await run(args)).stdout).toBe(
    `${path}\n4 s of audio. Nothing new was charged; it had cost 10 credits.\n`,
  );
  expect((await run([...args, "--take", "2"])).stdout).toContain(
    "hello-2.pcm\n4 s of audio. Cost 10 credits",
  );
  expect(service.tasks.size).toBe(2);
  expect(await run(["say", "x".repeat(2049)])).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/TEXT must be at most 2048 characters.*; see "say --help"/),
  });
});

it.each<[string, () => readonly string[], RegExp]>([
  [
    "a speed of a retake",
    () => narrate("--max-credits", "600", "--retake", "2@3=Two"),
    /: --retake: speed must be a number from 0\.5 to 2; see "narrate --help"/,
  ],
  [
    "a take of a retake",
    () => narrate("--max-credits", "600", "--retake", "0=Two"),
    /: --retake: take must be a whole number from 1 to 999/,
  ],
  ["a quote that is not there", () => narrate("--retake", "2=Nowhere"), /: The quote "Nowhere" of a retake/],
  [
    "a name with a folder",
    () => narrate("--max-credits", "600", "--file-name", "a/b"),
    /: The file name "a\/b" cannot be used/,
  ],
  [
    "a replacement without a name",
    () => ["say", "Good morning.", "--replace"],
    /: --replace needs the --file-name of the file/,
  ],
])("%s is refused in the words of a shell", async (_, args, words) => {
  const { stderr, code } = await run(args());
  expect(code).not.toBe(0);
  expect(stderr).toMatch(words);
  expect(stderr).not.toMatch(/file_name|retakes/);
});

it.each([
  [["naration", "x.md"], /"naration" is not a command; narrate is one/],
  [["sya", "Hello."], /"sya" is not a command; say is one/],
  [["--sandboxx"], /"--sandboxx" is not a command; --sandbox is one/],
  [["say", ""], /TEXT must not be empty/],
  [["say", "Hello.", "--voice", "--sandbox"], /: --voice needs a value/],
])("%j is refused with what was most likely meant", async (args, words) => {
  expect(await run(args)).toMatchObject({ code: 2, stderr: expect.stringMatching(words) });
});

it("voices lists the voices without an address and a key", async () => {
  const { code, stdout } = await run(["voices"], { AUDIO_BASE_URL: "", AUDIO_API_KEY: "" });
  expect(code).toBe(0);
  expect(stdout).toMatch(/^sophie_en_zh: en, zh$/m);
});

it("tasks --html over a file of one's own says to name another one", async () => {
  const { code, stderr } = await run(["tasks", "--html", text]);
  expect(code).toBe(1);
  expect(stderr).toMatch(/was not written by this command; it stays as it is\. Name another file\.\n$/);
});

it("narrate makes the retake that it is asked for, of a new text and of one that is finished", async () => {
  await run(narrate("--max-credits", "600", "--retake", "2=Two"));
  const bodies = (): unknown[] =>
    service.exchanges.filter(({ kind }) => kind === "create").map(({ key }) => key);
  expect(service.tasks.size).toBe(2);
  expect(await run(narrate("--max-credits", "900", "--retake", "3=Two"))).toMatchObject({ code: 0 });
  expect(service.tasks.size).toBe(3);
  expect(new Set(bodies()).size).toBe(3);
  // The first take was never asked for, so it is the one that is new now.
  await run(narrate("--max-credits", "900", "--retake", "1=Two"));
  expect(service.tasks.size).toBe(4);
});

it.each([
  ["parts that are paid again", [], /2 parts are paid for already or being made in nar_\w+ and differ only/],
  ["what the voice does not speak", ["--voice", "felix_zh"], /seems to be in English, which the voice/],
])("narrate says %s, and only the same command again makes it", async (_, settings, told) => {
  if (settings.length === 0) await run(narrate("--max-credits", "600"));
  const made = service.tasks.size;
  writeFileSync(text, buildText("One", "Two").replaceAll("So ends", `"So" ends`));
  const args = narrate("--max-credits", "600", ...settings);
  const { code, stdout } = await run(args);
  expect(stdout).toMatch(told);
  expect(stdout).toMatch(/\nTo make it all the same, run the same command again: about \d+ credits/);
  expect(code).toBe(3);
  expect(service.tasks.size).toBe(made);
  expect(await run(args)).toMatchObject({ code: 0 });
  expect(service.tasks.size).toBe(made + 2);
});

it("narrate asks once about a first limit that is likely to end it early, and names the price of the rest", async () => {
  const low = narrate("--max-credits", "155");
  const asked = await run(low);
  expect(asked.stdout).toMatch(/--max-credits 155 is likely to end it early, .*: that needs \d+\./);
  expect(asked.stdout).toMatch(
    /\nFor all of it: --max-credits 254\. With 155 all the same: run the same command/,
  );
  expect(asked.code).toBe(3);
  expect(service.tasks.size).toBe(0);
  expect((await run(low)).code).toBe(3);
  expect(service.tasks.size).toBe(1);
  expect((await run(narrate())).stdout).toMatch(
    /With --max-credits \d+ it goes on where it stopped, for about \d+ more credits, and pays/,
  );
  await run(narrate("--max-credits", "600"));
  expect((await run(narrate("--retake", "2=Two"))).stdout).toMatch(
    /for about (\d+) credits, beside the \d+ charged.*\nTo make it, add --max-credits \d+: about \1 more credits are charged/s,
  );
});

it("narrate says why nothing gets on, and since when, while the service is away", async () => {
  let isAway = true;
  service.intercept = ({ kind }, response) => {
    if (!isAway || kind !== "create") return false;
    service.refuse(response, 503, "api_unavailable");
    return true;
  };
  const running = start(narrate("--max-credits", "600"));
  await expect
    .poll(() => running.said.stderr, { timeout: 10_000 })
    .toMatch(/Part 0 of 2 saved; 0 credits\. The service is unavailable \(\d+ s so far\); trying again/);
  expect(running.said.stderr).not.toMatch(/unavailable.* left/);
  isAway = false;
  expect(await running.ended).toBe(0);
});

it.each([
  ["is away, also during a try", 3, /The service is unavailable \(\d+ s so far\); trying again now/],
  ["does not answer", 1, /The service has not answered the request yet \(\d+ s so far\)/],
])("say says that the service %s", async (_, unansweredFrom, words) => {
  service.intercept = ({ kind, ordinal }, response) => {
    if (kind !== "create") return false;
    if (ordinal < unansweredFrom) service.refuse(response, 503, "api_unavailable");
    return true;
  };
  const running = start(["say", "Good night.", "--output-format", "pcm"]);
  await expect.poll(() => running.said.stderr, { timeout: 10_000 }).toMatch(words);
  expect(running.said.stderr).not.toMatch(/unavailable[\s\S]*Sending the request/);
  running.interrupt();
  await running.ended;
});

it.each([
  ["say", ["say", "Good night."], /interrupted\. Nothing was sent or charged\./],
  ["narrate", narrateAway, /Interrupted: 0 of 2 parts saved, 0 credits charged\. Nothing was sent\. /],
])("Ctrl-C in %s says that nothing was sent if the service was never reached", async (_, command, words) => {
  const args = typeof command === "function" ? command() : command;
  // At its real length, the pause before the next try lasts until the interruption.
  const away = { AUDIO_BASE_URL: "http://127.0.0.1:9", AUDIO_TIME_SCALE: "1" };
  const { interrupt, said, ended } = start(args, away);
  await expect.poll(() => said.stderr, { timeout: 10_000 }).toMatch(/cannot be reached \(ECONNREFUSED\)/);
  interrupt();
  await ended;
  expect(`${said.stdout}${said.stderr}`).toMatch(words);
});

it.each<[string, readonly [number, string], RegExp]>([
  [
    "only earlier parts are saved",
    [429, "rate_limited"],
    /Interrupted: 1 of 2 parts saved, 0 credits charged\. Nothing is with the service\. The same command with --max-credits \d+ goes on, and pays for nothing twice\./,
  ],
  [
    "nobody knows whether the service has it",
    [503, "api_unavailable"],
    /0 credits charged\. 150 credits stay reserved for what has no answer yet, or is not needed any more\. The same command with --max-credits \d+ finds out what was made of it, and goes on/,
  ],
])("Ctrl-C in narrate promises to fetch nothing if %s", async (_, [status, code], words) => {
  writeFileSync(text, buildText("One"));
  await run(narrateAway());
  writeFileSync(text, buildText("One", "Two"));
  service.intercept = ({ kind }, response) => {
    if (kind !== "create") return false;
    service.refuse(response, status, code);
    return true;
  };
  const { interrupt, said, ended } = start(narrateAway(), { AUDIO_TIME_SCALE: "1" });
  await expect.poll(() => said.stderr, { timeout: 10_000 }).toMatch(/unavailable|to go/);
  interrupt();
  await ended;
  expect(said.stdout).toMatch(words);
});

it("say says at once that the port speaks no TLS", async () => {
  const { code, stderr } = await run(["say", "Good night."], {
    AUDIO_BASE_URL: service.baseUrl.replace("http:", "https:"),
  });
  expect(code).toBe(1);
  expect(stderr).toMatch(/does not speak TLS, so AUDIO_BASE_URL must not begin with https:/);
});

it("narrate names a finished file that is gone, and makes it again, free", async () => {
  const { stdout } = await run(narrate("--max-credits", "600"));
  const [path = ""] = stdout.split("\n");
  rmSync(path);
  expect((await run(narrate())).stdout).toMatch(
    new RegExp(
      `Not there any more as it was saved: ${path}.*\\nWith --max-credits 20 it is joined here again, free\\.\\n$`,
    ),
  );
  await run(narrate("--max-credits", "20"));
  expect(existsSync(path)).toBe(true);
  expect(service.tasks.size).toBe(2);
});

it("narrate --stop says of a finished or unbegun narration that there is nothing to stop", async () => {
  expect((await run(narrate("--stop"))).stdout).toContain(
    "Nothing was stopped: this narration has not begun. None is running.",
  );
  await run(narrate("--max-credits", "600"));
  const { stdout, code } = await run(narrate("--stop"));
  expect(stdout).toMatch(
    /\.pcm\n.*Nothing was stopped: this narration was finished already\. None is running\. \d+ s of audio\./s,
  );
  expect(code).toBe(0);
});

it("Ctrl-C in narrate --sandbox says that nothing was spent, and that the same command begins again", async () => {
  const running = start(narrate("--max-credits", "600", "--sandbox"));
  await expect.poll(() => running.said.stderr, { timeout: 20_000 }).toMatch(/Part 0 of 2 saved/);
  running.interrupt();
  expect(await running.ended).toBe(3);
  expect(running.said.stdout).toMatch(
    /^Interrupted\. The sandbox ended.*nothing was spent, and the same command begins again\.\n$/,
  );
});

it("narrate names the budget that has stopped it", async () => {
  const { code, stdout } = await run(narrate("--max-credits", "600"), { AUDIO_CREDIT_BUDGET: "155" });
  expect(code).toBe(3);
  expect(stdout).toMatch(/The credit budget of 155 for any 24 hours.*\nRaise AUDIO_CREDIT_BUDGET, or wait/s);
});

it("Ctrl-C in narrate is told truly, and the same command fetches what was paid for", async () => {
  service.processingMs = 60_000;
  const running = startCommandProcess(narrate("--max-credits", "600"), env({}));
  await expect.poll(() => service.tasks.size, { timeout: 10_000 }).toBe(2);
  running.interrupt();
  expect(await running.ended).toBe(3);
  expect(running.said.stderr).not.toMatch(/unexpectedly|error:|warn:/);
  expect(running.said.stdout).toMatch(
    /Interrupted: 0 of 2 parts saved, 0 credits charged\. 2 parts are with the service and will be charged, .*nothing of them is on this disk yet\. The same command with --max-credits \d+ fetches/,
  );
  expect(running.said.stdout).not.toMatch(ASSISTANT_WORDS);
  service.processingMs = 0;
  expect(await run(narrate("--max-credits", "600"))).toMatchObject({ code: 0 });
  expect(service.tasks.size).toBe(2);
});

it.each([
  ["say", ["say", "Good night."]],
  ["voices --sample", ["voices", "--sample", "--yes"]],
])("Ctrl-C in %s says that what was sent is charged, and the same command fetches it", async (_, command) => {
  service.processingMs = 60_000;
  const { interrupt, said, ended } = start(command);
  await expect.poll(() => service.tasks.size, { timeout: 10_000 }).toBeGreaterThan(0);
  interrupt();
  expect(await ended).toBe(1);
  expect(said.stderr).toMatch(
    /interrupted\. The service has accepted the text, makes and charges it\. The same command fetches it|interrupted;.*the same command fetches it/s,
  );
  expect(`${said.stdout}${said.stderr}`).not.toMatch(ASSISTANT_WORDS);
  service.processingMs = 0;
  expect(await run(command)).toMatchObject({ code: 0 });
  expect(new Set([...service.tasks.values()].map(({ body }) => body)).size).toBe(service.tasks.size);
});

it.each([0, 150, 600])("Ctrl-C after %i ms tells nothing half, and pays nothing twice", async (waitMs) => {
  service.processingMs = 300;
  const running = startCommandProcess(narrate("--max-credits", "600"), env({}));
  await sleep(250 + waitMs);
  running.interrupt();
  await running.ended;
  const said = `${running.said.stdout}${running.said.stderr}`;
  expect(said).not.toMatch(/unexpectedly|Error:|error:| {4}at /);
  expect(said).not.toMatch(ASSISTANT_WORDS);
  expect(await run(narrate("--max-credits", "600"))).toMatchObject({ code: 0 });
  expect(service.tasks.size).toBe(2);
});

it("the log has a line with its time for each decision, and at the level debug for each request", async () => {
  const log = join(testFolders.root, "log.txt");
  const { stderr } = await run(["say", "Good night."], { AUDIO_LOG_LEVEL: "debug", AUDIO_LOG_FILE: log });
  expect(stderr).not.toContain("debug:");
  const lines = readFileSync(log, "utf8").trim().split("\n");
  for (const line of lines)
    expect(line).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z audio-generation-mcp (?:info|debug): /);
  const decisions = lines.filter((line) => line.includes("info:")).join("\n");
  expect(decisions).toMatch(/request \w+ is sent, .*\n.*task \S+ was accepted for request.*\n.*was saved as/);
  expect(lines.join("\n")).toMatch(/debug: POST \/api\/v1\/audio\/generations was answered 202 after \d+ ms/);
});

it("narrate says that a folder is no file, and that a limit of 0 pays for nothing", async () => {
  const folder = await run(["narrate", testFolders.root]);
  expect(folder).toMatchObject({ code: 1, stdout: "" });
  expect(folder.stderr).toContain(`${testFolders.root} is a folder, not a file.`);
  const nothing = await run(narrate("--max-credits", "0"));
  expect(nothing).toMatchObject({ code: 2, stdout: "" });
  expect(nothing.stderr).toContain("--max-credits 0 pays for nothing; without it, narrate names the price");
});

it("narrate says of subtitles whether they are in time, and why a file has a number", async () => {
  text = join(testFolders.root, "film.srt");
  const write = (words: string): void =>
    writeFileSync(
      text,
      `1\n00:00:01,000 --> 00:00:02,000\n${words}\n\n2\n00:00:04,000 --> 00:00:05,200\nListen.\n`,
    );
  write("The river comes back.");
  const { stdout } = await run(narrateAway());
  expect(stdout).toMatch(
    /film\.pcm\n.*Cue 2 begins \d\.\d s late: .*The end comes \d\.\d s late: this part is too long/s,
  );
  write("The river is gone.");
  expect((await run(narrateAway())).stdout).toMatch(
    /film-2\.pcm\n.*A file named "film\.pcm" was there already.* --replace gives it that name instead, free; the recording/s,
  );
});
