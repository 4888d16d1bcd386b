/** Owns the table of a conversation: who wants what, in how few calls it is done, and it is held in both eras. */
import { describe, it } from "vitest";
import { ERAS, type Era, type Stage } from "./stage.ts";

export interface Conversation<S extends Stage> {
  /** What a person says, or what has happened to her. */
  readonly when: string;
  /** Of the assistant, from the person's wish on. */
  readonly fewestCalls: number;
  readonly stage: (era: Era) => Promise<S>;
  /** Plays it, and looks at what each answer says; {@link Stage.forget} ends what came before. */
  readonly play: (stage: S) => Promise<void>;
}

/**
 * Holds each conversation in both eras of the protocol; the text alone and the structured form alone each suffice.
 *
 * @param atOnce for those that mostly wait
 */
export function hold<S extends Stage>(
  about: string,
  conversations: readonly Conversation<S>[],
  { atOnce = false } = {},
): void {
  describe.each(ERAS)(`${about}, in the era of %s`, (era) => {
    (atOnce ? it.concurrent : it).each(conversations)("$when", async ({ stage, play, fewestCalls }) => {
      const set = await stage(era);
      try {
        await play(set);
        set.expectCalls(fewestCalls);
      } finally {
        await set.strike();
      }
    });
  });
}
