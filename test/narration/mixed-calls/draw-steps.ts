/** Draws the calls of a mixed round, and the texts that they name, from a seed alone. Sends nothing. */
import type { Random } from "../../support/random.ts";
import { paragraph } from "../narrator.ts";

/** How often each kind of step is drawn. */
const WEIGHTS = {
  allow: 16,
  stop: 2,
  look: 2,
  direct: 12,
  edit: 2,
  list: 2,
  "cancel-task": 2,
  "remove-file": 1,
  "other-key": 2,
  kill: 2,
  suspend: 1,
  disturb: 2,
} as const;
export type StepKind = keyof typeof WEIGHTS;

// The cast is needed, because `Object.entries` widens names to strings.
const KINDS = (Object.entries(WEIGHTS) as [StepKind, number][]).flatMap(([kind, weight]) =>
  Array.from({ length: weight }, () => kind),
);

/** How a text is typed again. The first three count as typing; another case is another text once it has ended. */
const TYPINGS = {
  quotes: (text: string) => text.replace(/"([^"]*)"/, "“$1”"),
  blanks: (text: string) => text.replace("she asked", "she  asked"),
  form: (text: string) => text.normalize("NFD"),
  case: (text: string) => text.replace("The river", "THE river"),
} as const;
export type Typing = keyof typeof TYPINGS;
const TYPING_NAMES = ["quotes", "blanks", "form", "case"] as const satisfies readonly Typing[];

export const ENOUGH_CREDITS = 100_000;
/** A name that several calls want, with `replace` or without. */
export const SHARED_NAME = "story";

/** One call or event. Each kind uses the facts that it needs. */
export interface Step {
  readonly kind: StepKind;
  readonly server: 0 | 1;
  /** Which of the texts, and which of its parts. */
  readonly story: 0 | 1;
  readonly part: number;
  /** Whether a direct call is for a part that is being made, if there is one. */
  readonly wantsRunning: boolean;
  readonly credits: number;
  readonly take: number;
  readonly typing: Typing | null;
  readonly isTask: boolean;
  readonly isById: boolean;
  /** Whether the next step begins before this one has ended. */
  readonly isBeside: boolean;
  readonly name: string | null;
  readonly mayReplace: boolean;
  readonly waitSeconds: number;
  /** When the call is cut short, and how; `null` if it is answered. */
  readonly cut: { readonly afterMs: number; readonly isKilled: boolean } | null;
  readonly pauseMs: number;
}

/** A part's text, which contains quotation marks, letters with accents, and capitals. */
export const partText = (name: string): string =>
  paragraph(name).replace("begins here.", 'begins here. "Ça va, été?" she asked.');

export const retype = (text: string, typing: Typing | null): string =>
  typing === null ? text : TYPINGS[typing](text);

export const quoteOf = (name: string): string => `${name} begins`;

/** The edit of a part: the same each time, so that a repeat is the same narration. */
export const editOf = (name: string) => ({
  quote: `So ends ${name}.`,
  replacement: `So ends ${name}, at last.`,
});

export function drawStep(random: Random, parts: number): Step {
  const kind = KINDS[random.int(0, KINDS.length - 1)] ?? "look";
  const isDirect = kind === "direct";
  return {
    kind,
    server: random.chance(0.5) ? 0 : 1,
    story: random.chance(0.7) ? 0 : 1,
    part: random.int(0, parts - 1),
    wantsRunning: random.chance(0.6),
    credits: random.chance(0.25) ? ENOUGH_CREDITS : 150 + random.int(0, parts * 60),
    take: random.chance(isDirect ? 0.15 : 0.3) ? random.int(2, 3) : 1,
    typing: random.chance(0.25) ? random.pick(TYPING_NAMES) : null,
    isTask: random.chance(0.2),
    isById: random.chance(0.85),
    isBeside: random.chance(0.6) && (isDirect || kind === "list" || kind === "disturb"),
    name: random.chance(0.2) ? SHARED_NAME : null,
    mayReplace: random.chance(0.5),
    waitSeconds: random.chance(0.75) ? 0 : random.int(1, 20),
    cut: random.chance(0.15) ? { afterMs: random.int(0, 60), isKilled: random.chance(0.4) } : null,
    pauseMs: random.int(0, 150),
  };
}

/** A call for the whole narration, whose process is killed, sometimes while the ledger is in trouble. */
export function drawKilledCall(random: Random): Step[] {
  const killed = drawKilled(random);
  return random.chance(0.3) ? [{ ...killed, kind: "disturb", cut: null }, killed] : [killed];
}

const drawKilled = (random: Random): Step => ({
  ...drawStep(random, 1),
  kind: "allow",
  story: 0,
  credits: ENOUGH_CREDITS,
  take: 1,
  typing: null,
  isTask: false,
  isById: false,
  isBeside: true,
  name: null,
  waitSeconds: 20,
  cut: { afterMs: random.int(0, 900), isKilled: true },
  pauseMs: random.int(0, 500),
});
