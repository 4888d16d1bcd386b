/** What of an answer reaches a model: its text, or its structured form alone; and what can be read out of that half. */
import { expect } from "vitest";
import { z } from "zod";
import type { Outcome } from "../../faults/raw-server.ts";

/** Some clients hand over the text, others the structured form; an error has nothing but its text. */
export type Half = "text" | "structured";

export interface NextCall {
  readonly name: "get_task" | "download_audio" | "generate_audio" | "narrate";
  readonly args: Readonly<Record<string, unknown>>;
}

const leaf = z.union([z.string(), z.number(), z.boolean()]);

/** `name: value` of every field, a line each: what a reader of the structured form has before him. */
function linesOf(value: unknown, name = ""): string[] {
  const shown = leaf.safeParse(value);
  if (shown.success) return [`${name}: ${shown.data}`];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => linesOf(inner, Array.isArray(value) ? name : key));
}

const SAVED_IN_TEXT = /^Saved (.+) \((?:mp3|wav|pcm|ogg_opus), \d+ Hz/m;
const NAMED_CALL = /\b(get_task|download_audio) with task_id ([\w.:-]*\w)(?: and wait_seconds (\d+))?/;
const NARRATION = /\bnarrate with narration_id ([\w-]*\w)(?: and max_credits (\d+))?/;
const REPEATED_CALL = /\b(?:Repeat the (?:same )?generate_audio call|repeat the same call)\b/i;

export class Seen {
  readonly isError: boolean;
  /** All that can be read. */
  readonly all: string;
  readonly #fields: Readonly<Record<string, unknown>> | undefined;

  constructor({ isError = false, content, structuredContent }: Outcome, half: Half) {
    this.isError = isError;
    const showsFields = half === "structured" && structuredContent !== undefined;
    this.#fields = showsFields ? structuredContent : undefined;
    const text = content.map((block) => block.text ?? "").join("\n");
    this.all = showsFields ? linesOf(structuredContent).join("\n") : text;
  }

  /** Each of these can be read, whatever else. */
  says(...facts: readonly RegExp[]): this {
    for (const fact of facts) expect(this.all).toMatch(fact);
    return this;
  }

  hides(...facts: readonly RegExp[]): this {
    for (const fact of facts) expect(this.all).not.toMatch(fact);
    return this;
  }

  /** The path of the saved file, which ends the search for it. */
  get path(): string {
    const shown =
      this.#fields === undefined
        ? SAVED_IN_TEXT.exec(this.all)?.[1]
        : z.looseObject({ audio: z.looseObject({ path: z.string() }) }).safeParse(this.#fields).data?.audio
            .path;
    expect(shown, `no saved file in: ${this.all}`).toBeDefined();
    return shown ?? "";
  }

  /** The call that the answer names as the next one: its tool and its arguments, out of this half alone. */
  get nextCall(): NextCall {
    const [, name, id, wait] = NAMED_CALL.exec(this.all) ?? [];
    if (name === "get_task" || name === "download_audio") {
      return { name, args: { task_id: id, ...(wait === undefined ? {} : { wait_seconds: Number(wait) }) } };
    }
    const [, narration, most] = NARRATION.exec(this.all) ?? [];
    if (narration !== undefined) {
      const args = { narration_id: narration, ...(most === undefined ? {} : { max_credits: Number(most) }) };
      return { name: "narrate", args };
    }
    expect(this.all, "no next call is named").toMatch(REPEATED_CALL);
    return { name: "generate_audio", args: {} };
  }
}
