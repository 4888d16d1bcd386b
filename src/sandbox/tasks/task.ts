/** Defines a stored task, and builds the AudioTask that clients see (docs/contract.md, AudioTask and States). */
import { randomBytes } from "node:crypto";
import type { NormalizedAudioInput } from "../../contract/audio-input.ts";
import type { AudioTask, RunningStatus } from "../../contract/audio-task.ts";
import { RESERVED_CREDITS } from "../../contract/billing.ts";
import { MODEL } from "../../contract/service-limits.ts";
import { GENERATIONS_PATH } from "../../contract/wire.ts";
import type { Account } from "../accounts/account-registry.ts";
import type { GrantReservation } from "../accounts/grants.ts";

/** The final state of a task: succeeded with audio and a charge, or failed with an error and no charge. */
export type TaskEnding =
  | {
      readonly status: "succeeded";
      readonly chargedCredits: number;
      readonly audioSeconds: number;
      readonly audio: Uint8Array;
    }
  | { readonly status: "failed"; readonly code: string; readonly message: string };

export interface Task {
  readonly id: string;
  readonly account: Account;
  readonly input: NormalizedAudioInput;
  /** The credits that were reserved when the task was created, listed for each grant. */
  readonly grantReservations: readonly GrantReservation[];
  /** True if the fault `fail_next_tasks` makes this task fail. */
  readonly mustFail: boolean;
  readonly createdAtMs: number;
  state: { readonly status: RunningStatus } | TaskEnding;
}

/** Generates an id from 96 random bits, so that it cannot be guessed and reveals nothing about other tasks. */
export function createTaskId(): string {
  return `aud_${randomBytes(12).toString("hex")}`;
}

/**
 * Builds the AudioTask of a task. The contract states `output`, `usage`, the charge and the refund for succeeded tasks
 * only. Before a task ends, the sandbox makes all four null, because any other value would be untrue. For a failed
 * task, `output` and `usage` are null, the charge is 0, and the refund is 150.
 */
export function buildTaskBody({ id, input, state }: Task, baseUrl: string): AudioTask {
  const succeeded = state.status === "succeeded" ? state : null;
  const charged = succeeded?.chargedCredits ?? (state.status === "failed" ? 0 : null);
  return {
    id,
    object: "audio.generation",
    model: MODEL,
    status: state.status,
    billing: {
      reserved_credits: RESERVED_CREDITS,
      charged_credits: charged,
      refunded_credits: charged === null ? null : RESERVED_CREDITS - charged,
    },
    output: succeeded && {
      // Downloading from this address needs the API key too (docs/contract.md, Download).
      url: `${baseUrl}${GENERATIONS_PATH}/${id}/content`,
      format: input.output_format,
      sample_rate: input.sample_rate,
      duration: succeeded.audioSeconds,
    },
    usage: succeeded && { audio_seconds: succeeded.audioSeconds },
    error: state.status === "failed" ? { code: state.code, message: state.message } : null,
  };
}
