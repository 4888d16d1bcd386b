/** Runs conversations: a user's wish, and the number of calls that fulfil it, in both protocol eras. */
import { describe, it } from "vitest";
import { type ConversationSetup, ERAS, type Era } from "./conversation-setup.ts";

export interface Conversation<S extends ConversationSetup> {
  /** The words or the situation of the user. */
  readonly when: string;
  /** Number of calls of the assistant after the user's wish. */
  readonly fewestCalls: number;
  readonly setup: (era: Era) => Promise<S>;
  /** Runs the conversation and checks each answer. {@link ConversationSetup.forget} ends its preparation. */
  readonly play: (setup: S) => Promise<void>;
}

/**
 * Runs each conversation in both protocol eras. The assistant must reach its goal from the text of the results
 * alone, and also from their structured content alone.
 *
 * @param atOnce whether the conversations run in parallel, which suits those that mostly wait
 */
export function describeConversations<S extends ConversationSetup>(
  about: string,
  conversations: readonly Conversation<S>[],
  { atOnce = false } = {},
): void {
  describe.each(ERAS)(`${about}, in the era of %s`, (era) => {
    (atOnce ? it.concurrent : it).each(conversations)("$when", async ({ setup, play, fewestCalls }) => {
      const set = await setup(era);
      try {
        await play(set);
        set.expectCalls(fewestCalls);
      } finally {
        await set.close();
      }
    });
  });
}
