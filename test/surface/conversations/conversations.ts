/** Runs conversations: a user's wish, and the number of calls that fulfil it, in each era of the protocol. */
import { describe, it } from "vitest";
import { CALLS_AS_TASKS, type ConversationSetup, ERAS, type Era } from "./conversation-setup.ts";

export interface Conversation<S extends ConversationSetup> {
  /** The words or the situation of the user. */
  readonly when: string;
  /** Number of calls of the assistant after the user's wish. */
  readonly fewestCalls: number;
  /** Whether a call returns before its work has ended, as no call does that is answered as an MCP task. */
  readonly returnsEarly?: true;
  readonly setup: (era: Era) => Promise<S>;
  /** Runs the conversation and checks each answer. {@link ConversationSetup.forget} ends its preparation. */
  readonly play: (setup: S) => Promise<void>;
}

/**
 * Runs each conversation in each era of the protocol. The assistant must reach its goal from the text of the results
 * alone, and also from their structured content alone.
 *
 * @param atOnce whether the conversations run in parallel, which suits those that mostly wait
 */
export function describeConversations<S extends ConversationSetup>(
  about: string,
  conversations: readonly Conversation<S>[],
  { atOnce = false } = {},
): void {
  for (const era of ERAS) {
    const possible = conversations.filter(
      ({ returnsEarly }) => returnsEarly !== true || era !== CALLS_AS_TASKS,
    );
    if (possible.length === 0) continue;
    describe(`${about}, in the era of ${era}`, () => {
      (atOnce ? it.concurrent : it).each(possible)("$when", async ({ setup, play, fewestCalls }) => {
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
}
