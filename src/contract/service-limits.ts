/** Defines the model and the limits of the service (docs/contract.md, AudioInput, Polling and Limits). */

export const MODEL = "audio-1.0";

export const MAX_PROMPT_CODE_POINTS = 2048;
export const MAX_URL_CODE_POINTS = 2048;
export const MAX_AUDIO_REFERENCES = 3;
/** Maximum number of audio references in a request with a voice. The voice counts as one more reference. */
export const MAX_AUDIO_REFERENCES_WITH_VOICE = 2;
export const MAX_REQUEST_BODY_BYTES = 32 * 1024;

/**
 * Maximum number of submissions in one limit window. All API keys of an account share this limit (docs/contract.md,
 * Limits).
 */
export const SUBMISSIONS_PER_WINDOW = 6;
export const READS_PER_WINDOW = 60;
export const LIMIT_WINDOW_SECONDS = 60;
export const MAX_CONCURRENT_TASKS = 2;
/** How long to wait after a 429 without a readable `Retry-After`. */
export const RETRY_AFTER_SECONDS = 60;
export const POLL_INTERVAL_SECONDS = 5;
/** How long the service tries to finish a task. A client may wait somewhat longer (docs/contract.md, Polling). */
export const RECOVERY_WINDOW_SECONDS = 60 * 60;
