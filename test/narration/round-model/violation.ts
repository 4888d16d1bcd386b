/** A promise about narrations that was broken. */
export type Promised =
  /** Something was sent without leave. */
  | "admission"
  | "payer"
  | "stopped"
  | "limit"
  | "failures"
  | "order"
  /** One text, settings and take succeeded twice. */
  | "twice"
  /** What was paid is not saved, or not joined. */
  | "saved"
  /** The bill is not what the service has charged for the narration. */
  | "bill"
  /** A narration that may go on does not. */
  | "liveness";

export class Violation extends Error {
  readonly rule: Promised;

  constructor(rule: Promised, description: string) {
    super(`${rule}: ${description}`);
    this.rule = rule;
  }
}
