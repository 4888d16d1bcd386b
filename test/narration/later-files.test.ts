/** A narration's file after it was made: deleted, needed on another machine, or under another name. */
import { readFile, rm } from "node:fs/promises";
import { basename, join } from "node:path";
import { describe, expect, it } from "vitest";
import { FAST } from "../support/bin-under-test.ts";
import { startToolClient } from "../support/tool-client.ts";
import { errorOf, resultTextOf } from "../support/tool-result.ts";
import { buildText, narrationOf, openNarratorEach } from "./narrator.ts";

const narrator = openNarratorEach();

const TWO = buildText("One", "Two");

describe("a finished narration", () => {
  it("whose file was deleted is reported, and is joined again free of charge", async () => {
    const { narration_id, files } = await narrator.narrate({ text: TWO, max_credits: 1000 });
    const path = files[0]?.path ?? "";
    await rm(path);
    const reported = await narrator.narrate({ narration_id });
    expect(reported).toMatchObject({ status: "finished", files: [] });
    expect(reported.message).toContain(`Not there any more as it was saved: ${path}`);
    expect(reported.message).not.toContain("Saved");
    expect(reported.next_step).toContain(`call narrate with narration_id ${narration_id} and max_credits 20`);
    const again = await narrator.narrate({ narration_id, max_credits: 20 });
    expect(again).toMatchObject({ status: "finished", credits: { charged: 20 } });
    expect(again.files[0]?.sha256).toBe(files[0]?.sha256);
    expect(narrator.service.count("create")).toBe(2);
  });

  it("that is on another machine is reported as not here, and saved here free of charge", async () => {
    const { narration_id, files } = await narrator.narrate({ text: TWO, max_credits: 1000 });
    const elsewhere = join(narrator.testFolders.root, "elsewhere");
    const env = narrator.testFolders.env(narrator.service, { ...FAST, AUDIO_OUTPUT_DIR: elsewhere });
    const other = await startToolClient(env);
    const reported = narrationOf(await other.call("narrate", { narration_id }));
    expect(reported).toMatchObject({ status: "finished", files: [] });
    expect(reported.message).toContain("Not there any more as it was saved");
    const shownNarration = narrationOf(await other.call("narrate", { narration_id, max_credits: 20 }));
    await other.close();
    expect(shownNarration.files[0]?.path.startsWith(elsewhere)).toBe(true);
    expect(shownNarration.files[0]?.sha256).toBe(files[0]?.sha256);
    expect(narrator.service.count("create")).toBe(2);
  });

  it("is saved under another name without a limit, free of charge, and both files stay", async () => {
    const { narration_id, files } = await narrator.narrate({
      text: TWO,
      max_credits: 1000,
      file_name: "first",
    });
    const plannedNarration = narrator.service.exchanges.length;
    const renamed = await narrator.narrate({ narration_id, file_name: "second" });
    expect(renamed).toMatchObject({ status: "finished", credits: { charged: 20 } });
    expect(basename(renamed.files[0]?.path ?? "")).toBe("second.pcm");
    expect(await readFile(renamed.files[0]?.path ?? "")).toEqual(await readFile(files[0]?.path ?? ""));
    expect(narrator.service.exchanges.length).toBe(plannedNarration);
  });

  it("in a call of download_audio is answered with the call that saves it under another name", async () => {
    const { narration_id } = await narrator.narrate({ text: TWO, max_credits: 1000 });
    const refused = await narrator.client.call("download_audio", {
      task_id: narration_id,
      file_name: "third",
    });
    expect(errorOf(refused).code).toBe("invalid_request");
    expect(resultTextOf(refused)).toContain(`narrate with narration_id ${narration_id}`);
    expect(resultTextOf(refused)).toContain("with file_name it is saved under that name, too, free");
  });
});

it("the file name of a plan is kept when the next call follows next_step", async () => {
  const plan = await narrator.narrate({ text: TWO, file_name: "tale" });
  const done = await narrator.narrate({ narration_id: plan.narration_id, max_credits: 1000 });
  expect(basename(done.files[0]?.path ?? "")).toBe("tale.pcm");
});

it("the file name of a plan can still be changed while the narration runs, without a limit", async () => {
  narrator.service.processingMs = 700;
  const startedNarration = await narrator.narrate({
    text: TWO,
    max_credits: 1000,
    wait_seconds: 0,
    file_name: "early",
  });
  const { narration_id } = startedNarration;
  const done = await narrator.narrate({ narration_id, file_name: "late" });
  expect(done.status).toBe("finished");
  expect(basename(done.files[0]?.path ?? "")).toBe("late.pcm");
  expect(narrator.service.count("create")).toBe(2);
});
