/**
 * An answer as models see it: some see only its text, others only its structured form. A check finds a fact only if
 * both forms contain it.
 */
import { expect } from "vitest";
import { z } from "zod";
import type { Outcome } from "../../faults/raw-server.ts";

export interface NextCall {
  readonly name: "get_task" | "download_audio" | "generate_audio" | "narrate";
  readonly args: Readonly<Record<string, unknown>>;
}

const leaf = z.union([z.string(), z.number(), z.boolean()]);

/** Lists every field of the structured form as a line `name: value`. */
function linesOf(value: unknown, name = ""): string[] {
  const shown = leaf.safeParse(value);
  if (shown.success) return [`${name}: ${shown.data}`];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => linesOf(inner, Array.isArray(value) ? name : key));
}

const SAVED_IN_TEXT = /^Saved (.+) \((?:mp3|wav|pcm|ogg_opus), \d+ Hz/m;
const NAMED_CALL = /\b(get_task|download_audio) with task_id ([\w.:-]*\w)(?: and wait_seconds (\d+))?/;
const NARRATION =
  /\bnarrate with narration_id ([\w-]*\w)(?: and max_credits (\d+))?(?: and wait_seconds (\d+))?/;
const REPEATED_CALL = /\b(?:Repeat the (?:same )?generate_audio call|repeat the same call)\b/i;

function callNamedIn(form: string): NextCall {
  const [, name, id, wait] = NAMED_CALL.exec(form) ?? [];
  if (name === "get_task" || name === "download_audio") {
    return { name, args: { task_id: id, ...(wait === undefined ? {} : { wait_seconds: Number(wait) }) } };
  }
  const [, narrationId, maxCredits, narrateWait] = NARRATION.exec(form) ?? [];
  if (narrationId !== undefined) {
    const args = {
      narration_id: narrationId,
      ...(maxCredits === undefined ? {} : { max_credits: Number(maxCredits) }),
      ...(narrateWait === undefined ? {} : { wait_seconds: Number(narrateWait) }),
    };
    return { name: "narrate", args };
  }
  expect(form, "no next call is named").toMatch(REPEATED_CALL);
  return { name: "generate_audio", args: {} };
}

export class SeenAnswer {
  readonly isError: boolean;
  /** Some clients pass on only this form. */
  readonly text: string;
  /** Other clients pass on only this form. An error has only text. */
  readonly #fields: Readonly<Record<string, unknown>> | undefined;

  constructor({ isError = false, content, structuredContent }: Outcome) {
    this.isError = isError;
    this.text = content.map((block) => block.text ?? "").join("\n");
    this.#fields = structuredContent;
  }

  get #forms(): string[] {
    return this.#fields === undefined ? [this.text] : [this.text, linesOf(this.#fields).join("\n")];
  }

  /** Checks that both forms contain each of these facts. */
  says(...facts: ReadonlyArray<RegExp | string>): this {
    for (const form of this.#forms) for (const fact of facts) expect(form).toMatch(fact);
    return this;
  }

  hides(...facts: readonly RegExp[]): this {
    for (const form of this.#forms) for (const fact of facts) expect(form).not.toMatch(fact);
    return this;
  }

  /** Returns the path of the saved file. Both forms must name it. */
  get path(): string {
    const shown = SAVED_IN_TEXT.exec(this.text)?.[1];
    expect(shown, `no saved file in: ${this.text}`).toBeDefined();
    if (this.#fields !== undefined) expect(this.#fields).toMatchObject({ audio: { path: shown } });
    return shown ?? "";
  }

  /** Returns the call that the answer names as the next one. Both forms must name the same tool and arguments. */
  get nextCall(): NextCall {
    const [call, ...same] = this.#forms.map(callNamedIn);
    for (const other of same) expect(other).toEqual(call);
    return call ?? callNamedIn(this.text);
  }
}
