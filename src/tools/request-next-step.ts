/** Says what to do about a request, for an assistant and for a person at a shell. */
import type { Wording } from "../errors.ts";
import type { ListedRequest } from "../requests/list-requests.ts";
import type { RequestView } from "../requests/request-view.ts";
import { isTextRefused } from "../requests/task-failed-error.ts";

/** The next step once the audio is saved. No further call is necessary. */
export const TELL_THE_PATH = "Tell the user the path.";

/** Returns the task id. Until the service has assigned one, returns the request handle. */
export function getTaskIdOrRequestHandle({ taskId, requestHandle }: RequestView): string {
  const id = taskId ?? requestHandle;
  if (id === null) throw new Error("a task without an id and without a handle");
  return id;
}

/**
 * Returns the words, which are complete on their own, because a model may see only the field that contains them. A call
 * with the task id is free, whichever API key and account the task is of.
 *
 * @param request a request of a list also has what only lists know
 * @param waitSeconds a wait that the client has borne
 */
export function describeRequestNextStep(
  request: RequestView & Partial<Pick<ListedRequest, "isOtherKey" | "wrongFormatPath">>,
  waitSeconds: number,
): Wording {
  const { status, refusal, billing, error, wrongFormatPath = null, isOtherKey = false } = request;
  if (request.audio !== null) return TELL_THE_PATH;
  const id = getTaskIdOrRequestHandle(request);
  const download = `Call download_audio with task_id ${id}`;
  const get = `Call get_task with task_id ${id} and wait_seconds ${waitSeconds}`;
  const say = (state: string, assistant: string, terminal: string): Wording => ({
    assistant: `${state}${assistant}`,
    terminal: `${state}${terminal}`,
  });
  if (request.isGone)
    return say(
      "The service did not know it any more. ",
      `Call get_task with task_id ${id} to ask once more, free; only another take would make it again, for credits.`,
      "Only another take would make it again, for credits.",
    );
  if (wrongFormatPath !== null)
    return say(
      `Its bytes are no audio; they are kept as ${wrongFormatPath}. `,
      `${download} to look whether the service has other ones by now (free).`,
      "The same request looks whether the service has other ones by now, free.",
    );
  if (request.isTooLarge)
    return say(
      "Its audio is larger than this server takes, and stays at the service. ",
      `${download} to hear how to fetch it (free).`,
      "The same request says how to fetch it, free.",
    );
  const isAnswered = status !== "waiting" && status !== "unresolved";
  if (isOtherKey && status === "waiting")
    return say(
      "Asked for under an earlier API key, not sent yet. ",
      "The same generate_audio call makes it with this one.",
      "The same request makes it with this one.",
    );
  if (isOtherKey && status === "unresolved")
    return say(
      "Sent under an earlier API key, answer unseen. ",
      "The same generate_audio call fetches it, free, if both keys are of one account; else it makes a new task and may cost credits: ask the user first.",
      "The same request fetches it, free, if both keys are of one account; else it is a new one, and may cost credits.",
    );
  const otherKey = isOtherKey ? "Sent under an earlier API key. " : "";
  if (request.activity !== null && !isAnswered)
    return say("", `${get}: it waits for the file.`, "The same request waits for it.");
  switch (status) {
    case "waiting":
      return refusal === null
        ? say("Never sent. ", "Repeat the same generate_audio call.", "The same request sends it.")
        : say(
            `Refused (${refusal.code}): ${refusal.message} Nothing was charged. `,
            "When that is fixed, repeat the same generate_audio call.",
            "When that is fixed, the same request sends it.",
          );
    case "unresolved":
      return say(
        "Sent, not known to be accepted. ",
        `${download} to send the very same request again under its key; it never pays twice.`,
        "The same request sends it under the same key, and never pays twice.",
      );
    case "queued":
    case "processing":
      return say(otherKey, `${get}.`, "The service makes it. The same request waits for it, and fetches it.");
    case "succeeded":
      return say(otherKey, `${download} (free).`, "The same request fetches it, free.");
    case "failed": {
      const isRefunded = billing?.charged_credits === 0;
      const cost = isRefunded ? "Refunded, so it cost nothing. " : "It may have been charged all the same. ";
      if (isTextRefused(error?.message ?? null))
        return say(
          `${cost}The same text would be refused again; `,
          "generate_audio with other words is a new task.",
          "other words are a new request.",
        );
      return isRefunded
        ? say(
            cost,
            "Tell the user; if they want it, the same generate_audio call tries again.",
            "The same request tries again.",
          )
        : say(
            cost,
            "The same generate_audio call makes a fresh, paid attempt: ask the user first.",
            "The same request is a fresh, paid attempt.",
          );
    }
  }
}
