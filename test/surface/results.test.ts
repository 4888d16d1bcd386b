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

describe.each(Object.entries(VIEWS))("the result of a task %s", (_name, view) => {
  const { structured, text } = render(view);

  it("contains no null, the path once in each form, and at most 650 bytes per form", () => {
    const json = JSON.stringify(structured);
    expect(structured).toMatchObject({
      status: view.status === "unresolved" ? "waiting" : view.status,
      next_step: expect.stringMatching(/.{10,}/),
    });
    expect(taskOutput.safeParse(structured).error).toBeUndefined();
    if (view.audio === null) expect(text).toContain(`\nNext: ${String(structured["next_step"])}`);
    for (const note of view.notes) expect(text).toContain(note);
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
