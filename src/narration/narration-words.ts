/** Every sentence about a narration: how it stands, what it cost, what to call next. */
import { RESERVED_CREDITS } from "../contract/billing.ts";
import type { NarrationState, NarrationTicket } from "./narration-state.ts";
import { type NarrationView, secondsLeft } from "./narration-view.ts";

const plural = (count: number, one: string): string => `${count} ${one}${count === 1 ? "" : "s"}`;

type CancelledEnd = Extract<NarrationTicket["end"], { kind: "cancelled" }>;

/** "52 min", "40 s", "3 h 20 min". */
export function duration(seconds: number): string {
  if (seconds < 100) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 100) return `${minutes} min`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** One line while it runs. */
export function progressOf(state: NarrationState, nowMs: number): string {
  const left = secondsLeft(state, state.savedParts, nowMs);
  const time = state.savedParts < state.totalParts ? `; about ${duration(left)} left` : "";
  return `Part ${state.savedParts} of ${state.totalParts} saved; ${Math.round(state.chargedCredits)} credits${time}`;
}

/** What a task is told for ever that was taken back. */
export function cancelledWords({ figures, isLeftRunning }: CancelledEnd): string {
  const { parts, credits } = figures;
  const stood = `By then ${parts.saved} of ${plural(parts.total, "part")} ${parts.saved === 1 ? "was" : "were"} saved and ${credits.charged} credits charged`;
  const repeat =
    "The same call begins a new task, which goes on from what is saved and pays for nothing twice.";
  return isLeftRunning
    ? `Cancelled: nothing more is created for this task. ${stood}. Another call had asked for the same narration, so it went on for that one, within its max_credits. ${repeat}`
    : `Cancelled: nothing more is created for this task. ${stood}; what else had been sent is seen through, charged as usual and saved. ${repeat}`;
}

function problemWords({ problems }: NarrationView): string[] {
  return problems.slice(0, MOST_PROBLEMS).map(({ part, excerpt, message }) => {
    const where = part === null ? "" : `Part ${part + 1} (${JSON.stringify(excerpt)}): `;
    return `${where}${message}`;
  });
}

const MOST_PROBLEMS = 5;

function fileWords({ files }: NarrationView): string {
  const paths = files.map(({ path, durationSeconds }) => `${path} (${duration(durationSeconds)})`);
  return `Saved ${paths.join(", ")}.`;
}

function planWords(view: NarrationView): string {
  const { parts, credits, seconds } = view;
  const takes =
    view.otherTakes === 0 ? "" : ` ${plural(view.otherTakes, "part")} in another take than the first.`;
  if (credits.charged > 0) {
    const toCome = credits.estimate - credits.charged;
    return `A plan: ${plural(parts.total - parts.saved, "part")} to be made for about ${toCome} credits, beside the ${credits.charged} charged for it so far; max_credits counts both.${takes} Nothing was sent or charged.`;
  }
  if (parts.saved === parts.total) {
    return `A plan of ${plural(parts.total, "part")}, about ${duration(seconds.estimate)} of audio, all of it paid for already. Nothing was sent or charged.`;
  }
  const paid =
    parts.alreadyPaid === 0
      ? ""
      : ` ${plural(parts.alreadyPaid, "part")} of them ${parts.alreadyPaid === 1 ? "is" : "are"} paid for already.`;
  return `A plan of ${plural(parts.total, "part")}: about ${duration(seconds.estimate)} of audio for about ${credits.estimate} credits.${paid}${takes} Nothing was sent or charged.`;
}

function soFar({ parts, credits }: NarrationView): string {
  return `${parts.saved} of ${plural(parts.total, "part")} saved, ${credits.charged} credits charged${credits.reserved > 0 ? `, ${credits.reserved} reserved` : ""}.`;
}

/** How it stands and why, without what to do next. */
export function messageOf(view: NarrationView): string {
  const { status, remarks, unspoken } = view;
  const ofText = status === "planned" ? [...remarks, ...unspoken] : status === "finished" ? unspoken : [];
  return [headOf(view), ...problemWords(view), ...ofText].join(" ");
}

function headOf(view: NarrationView): string {
  switch (view.status) {
    case "planned":
      return planWords(view);
    case "running": {
      const left = view.seconds.left === null ? "" : ` About ${duration(view.seconds.left)} left.`;
      return `Running: ${soFar(view)}${left} It goes on by itself, up to ${view.credits.max} credits in all, as long as this server runs.`;
    }
    case "stopped":
      return `Stopped: ${soFar(view)}${view.problems.length === 0 ? " The process that ran it has ended." : ""}`;
    case "finished":
      return view.isRepeat
        ? `${fileWords(view)} Nothing new was charged; it had cost ${view.credits.charged} credits.`
        : `${fileWords(view)} Cost ${view.credits.charged} credits${view.parts.alreadyPaid > 0 ? `; ${plural(view.parts.alreadyPaid, "part")} had been paid for before` : ""}.`;
  }
}

/** What to call next, complete in itself. */
export function nextStep(view: NarrationView): string {
  const call = `call narrate with narration_id ${view.narrationId}`;
  const sentence = stepOf(view, call);
  return `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}`;
}

function stepOf(view: NarrationView, call: string): string {
  switch (view.status) {
    case "planned":
      if (view.parts.saved === view.parts.total) {
        return `${call} and max_credits ${Math.max(1, view.credits.charged)}: everything is paid for, so it costs nothing.`;
      }
      return `Tell the user length and price. When they agree: ${call} and max_credits ${view.credits.suggestedMax}${view.credits.charged > 0 ? ", with the same retakes" : ""}: the price, and what is set aside (150 a part) while parts are made; what is not used is not charged.`;
    case "running":
      return `${call}: it waits, and tells how it stands.`;
    case "stopped":
      return stoppedStep(view, call);
    case "finished":
      return view.files.length === 1 ? "Tell the user the path." : "Tell the user the paths.";
  }
}

function stoppedStep(view: NarrationView, call: string): string {
  const more = Math.max(view.credits.suggestedMax, view.credits.max ?? 0);
  const goOn = `${call} and max_credits ${more}: it goes on where it stopped, and pays for nothing twice.`;
  const [first] = view.problems;
  if (first === undefined) return goOn;
  // Nothing is missing, so a repeat would only find the same: the audio itself is at fault.
  if (first.part !== null && first.code === "unexpected_response" && view.parts.saved === view.parts.total) {
    return `Ask the user whether to pay for that part again. If so: ${call}, max_credits ${view.credits.charged + RESERVED_CREDITS}, and retakes with a quote of it and its next take, such as 2.`;
  }
  if (first.part !== null && first.code !== "parts_differ") {
    return `${goOn.slice(0, -1)}; it tries only what is missing. With skip_failed true it is joined without those parts.`;
  }
  if (first.code === "parts_differ") return "Tell the user; the parts are kept.";
  if (first.code === "stopped") return `Tell the user that it is stopped. If they want to go on: ${goOn}`;
  if (first.code === "max_credits_reached" || first.code === "cancelled") {
    return `Ask the user whether to go on. If so: ${goOn}`;
  }
  return `Tell the user what is in the way. When it is mended: ${goOn}`;
}
