/** Each form of a result is complete without the other, small, and free of nulls (docs/reference.md, Results). */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { RequestView } from "../../src/requests/request-view.ts";
import { renderNarration } from "../../src/tools/narrate.ts";
import { renderTask, taskOutput } from "../../src/tools/task-output.ts";
import { NARRATIONS } from "./narration-views.ts";
import { PATH, VIEWS } from "./views.ts";

const MAX_BYTES = 650;

const never = (): boolean => false;
const render = (view: RequestView) => renderTask(view, { takeFirstSuccess: never });

/** Returns the facts that each form of a result must contain on its own, for a task in any state. */
function wanted({
  taskId,
  requestHandle: handle,
  audio,
  voice,
  billing,
  status,
  activity,
  isUnresolved,
}: RequestView): RegExp[] {
  const charged = billing?.charged_credits;
  return [
    new RegExp(taskId ?? handle ?? "?"),
    ...(audio === null ? [] : [new RegExp(audio.path.replaceAll(/[.]/g, "\\.")), /41\.317/]),
    ...(audio === null || voice === null ? [] : [new RegExp(voice)]),
    ...(activity === null ? [] : [new RegExp(activity.replaceAll(/[.()]/g, "\\$&"))]),
    ...(status === "waiting" && activity !== null ? [/goes on by itself and saves the file/] : []),
    ...(status === "waiting" && !isUnresolved ? [/Nothing is reserved yet/] : []),
    ...(charged === null ? [/150 credits are reserved/] : []),
    ...(charged !== undefined && charged !== null && status === "succeeded" ? [/53 credits/] : []),
    ...(status === "failed" ? [/Cost 0 credits/] : []),
  ];
}

const STATUS_IN_TEXT: Readonly<Record<RequestView["status"], RegExp>> = {
  succeeded: /^Saved |has succeeded/,
  queued: /is queued/,
  processing: /is processing/,
  waiting: /^Not accepted|^Never sent|^Sent, and the answer/,
  failed: /failed/,
};

describe.each(Object.entries(VIEWS))("the result of a task %s", (_name, view) => {
  const { structured, text } = render(view);

  it("is complete in the structured form", () => {
    const all = JSON.stringify(structured);
    for (const fact of wanted(view)) expect(all).toMatch(fact);
    expect(structured).toMatchObject({ status: view.status, next_step: expect.stringMatching(/.{10,}/) });
    expect(taskOutput.safeParse(structured).error).toBeUndefined();
  });

  it("is complete in the text", () => {
    for (const fact of wanted(view)) expect(text).toMatch(fact);
    expect(text).toMatch(STATUS_IN_TEXT[view.status]);
    if (view.audio === null) expect(text).toContain(`\nNext: ${String(structured["next_step"])}`);
    for (const note of view.notes) expect(text).toContain(note);
  });

  it("contains no null, the path once in each form, and at most 650 bytes per form", () => {
    const json = JSON.stringify(structured);
    expect(json).not.toContain("null");
    for (const form of [json, text]) {
      expect(form.split(PATH).length - 1).toBe(view.audio === null ? 0 : 1);
      expect(Buffer.byteLength(form)).toBeLessThanOrEqual(MAX_BYTES);
    }
    expect(json).not.toMatch(/sha256|idempotency_key/);
  });
});

describe("a success", () => {
  const finished = Object.entries(NARRATIONS).filter(([, { status }]) => status === "finished");

  it.each(finished)(
    "of a narration, %s, takes at most 650 bytes in each form, without paths and problems",
    (_name, view) => {
      const { structured, text } = renderNarration(view);
      const saved = view.files.flatMap(({ audio, beside }) => [audio, ...beside].map(({ path }) => path));
      const paths = [...saved, ...view.missingPaths];
      const excerpts = view.problems.flatMap(({ excerpt }) => (excerpt === null ? [] : [excerpt]));
      const left = [...view.problems.map(({ message }) => message), ...excerpts];
      const bare = (form: string): string =>
        [...paths, ...left].reduce((words, each) => (each === "" ? words : words.replaceAll(each, "")), form);
      const files = z
        .array(z.unknown())
        .parse(structured["files"])
        .slice(1)
        .map((file) => JSON.stringify(file));
      const room = MAX_BYTES + Buffer.byteLength(files.join(""));
      expect(Buffer.byteLength(bare(JSON.stringify({ ...structured, problems: [] })))).toBeLessThanOrEqual(
        room,
      );
      expect(Buffer.byteLength(bare(text))).toBeLessThanOrEqual(room);
    },
  );
});

describe("rarely needed fields", () => {
  it("are returned only by get_task: the key and the hash", () => {
    const view = VIEWS["saved, new"];
    if (view === undefined) throw new Error("no such view");
    const { structured } = renderTask(view, { isFull: true, takeFirstSuccess: never });
    expect(structured).toMatchObject({
      idempotency_key: view.idempotencyKey,
      audio: { sha256: view.audio?.sha256 },
    });
  });

  it("the request to tell the path appears once in the text, and always in the structured form", () => {
    const view = VIEWS["saved, new"];
    if (view === undefined) throw new Error("no such view");
    const first = renderTask(view, { takeFirstSuccess: () => true });
    expect(first.text).toMatch(/\nNext: Tell the user the path\.$/);
    expect(render(view).text).not.toContain("Next:");
    expect(render(view).structured["next_step"]).toBe("Tell the user the path.");
  });

  it("withheld texts of the service appear in no field and no text", () => {
    const view = VIEWS["failed, with words that are withheld"];
    if (view === undefined) throw new Error("no such view");
    const { structured, text } = render(view);
    expect(`${JSON.stringify(structured)} ${text}`).not.toMatch(/SYSTEM|evil/);
    expect(structured["error"]).toEqual({ code: "generation_failed" });
  });
});
