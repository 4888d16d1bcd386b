/** Owns the table of a conversation: who wants what, in how few calls it is done, and in which manners it is held. */
import { describe, it } from "vitest";
import { MANNERS, type Manner, type Stage } from "./stage.ts";

export interface Conversation<S extends Stage> {
  /** What a person says, or what has happened to her. */
  readonly when: string;
  /** Of the assistant, from the person's wish on. */
  readonly fewestCalls: number;
  readonly stage: (manner: Manner) => Promise<S>;
  /** Plays it, and looks at what each answer says; {@link Stage.forget} ends what came before. */
  readonly play: (stage: S) => Promise<void>;
}

/**
 * Holds each conversation in both eras of the protocol, with the text alone and with the structured form alone.
 *
 * @param atOnce for those that mostly wait
 */
export function hold<S extends Stage>(
  about: string,
  conversations: readonly Conversation<S>[],
  { atOnce = false } = {},
): void {
  describe.each(MANNERS)(`${about}, in the era of $era, by the $half`, (manner) => {
    (atOnce ? it.concurrent : it).each(conversations)("$when", async ({ stage, play, fewestCalls }) => {
      const set = await stage(manner);
      try {
        await play(set);
        set.expectCalls(fewestCalls);
      } finally {
        await set.strike();
      }
    });
  });
}
