/** Runs the contract suite against the service named in the environment. Started by scripts/verify-service.ts. */
import { z } from "zod";
import { LIMIT_WINDOW_SECONDS, POLL_INTERVAL_SECONDS } from "../../src/contract/service-limits.ts";
import { contractSuite } from "./suite.ts";

const key = z.string().min(1);
const environment = z
  .object({
    VERIFY_BASE_URL: z.url(),
    AUDIO_API_KEY: key,
    VERIFY_SECOND_KEY: key.optional(),
    VERIFY_OTHER_ACCOUNT_KEY: key.optional(),
    VERIFY_REVOKED_KEY: key.optional(),
    VERIFY_GIFT_ONLY_KEY: key.optional(),
    VERIFY_POOR_KEY: key.optional(),
    VERIFY_REFUNDED_KEY: key.optional(),
    VERIFY_PARTLY_REFUNDED_KEY: key.optional(),
  })
  .parse(process.env);

contractSuite({
  baseUrl: environment.VERIFY_BASE_URL,
  apiKey: environment.AUDIO_API_KEY,
  limitWindowMs: LIMIT_WINDOW_SECONDS * 1000,
  pollIntervalMs: POLL_INTERVAL_SECONDS * 1000,
  secondKey: environment.VERIFY_SECOND_KEY,
  otherAccountKey: environment.VERIFY_OTHER_ACCOUNT_KEY,
  revokedKey: environment.VERIFY_REVOKED_KEY,
  giftOnlyKey: environment.VERIFY_GIFT_ONLY_KEY,
  poorKey: environment.VERIFY_POOR_KEY,
  refundedKey: environment.VERIFY_REFUNDED_KEY,
  partlyRefundedKey: environment.VERIFY_PARTLY_REFUNDED_KEY,
});
