/** Registers a test for each rule of the contract, skipped if the target cannot show the rule. Contains no rule. */
import { it, type TestContext } from "vitest";
import { skipBecause } from "../support/skip-because.ts";

/** One registered test. */
export interface RegisteredRule {
  readonly rule: string;
  readonly title: string;
}

export class RuleBook {
  readonly registered: RegisteredRule[] = [];

  /**
   * Registers a test. `rule` is the rule's number in README.md, such as `4.1.2`, or a number and a subject, such as
   * `2.1 prompt`.
   */
  rule(rule: string, title: string, check: (context: TestContext) => Promise<void> | void): void {
    this.registered.push({ rule, title });
    it(`${rule} ${title}`, check);
  }

  /** Registers a test that needs something that only some targets have. `need` completes the sentence "needs ...". */
  ruleWith<Option>(
    option: Option | undefined,
    need: string,
    rule: string,
    title: string,
    check: (option: Option, context: TestContext) => Promise<void>,
  ): void {
    if (option !== undefined) {
      this.rule(rule, title, async (context) => check(option, context));
      return;
    }
    this.registered.push({ rule, title });
    it(`${rule} ${title} (needs ${need})`, skipBecause(`the target has not got ${need}`), () => undefined);
  }

  /** Registers a skipped test for a rule that no request can show, so that every rule has a test. */
  unobservable(rule: string, reason: string): void {
    const title = `not observable: ${reason}`;
    this.registered.push({ rule, title });
    it(`${rule} ${title}`, skipBecause("no request can show it"), () => undefined);
  }
}
