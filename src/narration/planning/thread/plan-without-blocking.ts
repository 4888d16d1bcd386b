/** Plans a text without blocking other calls: a short one at once, a long one in a worker thread. */
import { getSystemCode } from "../../../files/file-error.ts";
import type { NarrationInput } from "../../../files/input-format.ts";
import type { PlanOptions } from "../build-stored-plan.ts";
import type { StoredPlan } from "../stored-plan.ts";

/**
 * Maximum length of a text that is planned without a thread. Planning it takes about 40 ms, less than a thread takes to
 * start.
 */
const MAX_CODE_UNITS_WITHOUT_THREAD = 100_000;

/**
 * Plans an input: a short text at once, anything else in the planning thread.
 *
 * @throws AudioError `invalid_request` if there is nothing to speak, or planning takes too long
 */
export async function planWithoutBlocking(source: NarrationInput, options: PlanOptions): Promise<StoredPlan> {
  // Plan every book in a thread. The unpacked size of an archive is unknown, and deeply nested elements take seconds to
  // close.
  const isBook = source.format === "epub" || source.format === "html";
  if (isBook || source.text.length > MAX_CODE_UNITS_WITHOUT_THREAD) {
    const { planInThread } = await import("./plan-thread.ts");
    try {
      return await planInThread(source, options);
    } catch (error) {
      // Plan in this thread if `node --permission` forbids worker threads.
      if (getSystemCode(error) !== "ERR_ACCESS_DENIED") throw error;
    }
  }
  const { planByKind } = await import("../plan-by-kind.ts");
  return await planByKind(source, options);
}
