/** The contract suite: every numbered rule of the service's contract as a test, independent of the implementation. */
import { afterAll, describe, expect } from "vitest";
import { RuleBook } from "./rule-book.ts";
import { authenticationRules } from "./rules/authentication.ts";
import { createRules } from "./rules/create.ts";
import { inputRules } from "./rules/input.ts";
import { limitRules } from "./rules/limits.ts";
import { overviewRules } from "./rules/overview.ts";
import { readRules } from "./rules/read.ts";
import { stateRules } from "./rules/states.ts";
import { taskRules } from "./rules/task.ts";
import { ServiceClient } from "./service-client.ts";
import { MAX_SUITE_TASKS } from "./suite-cost.ts";
import type { ContractTarget } from "./target.ts";

/**
 * Registers the tests of all rules. The test of a rule that needs something that the target lacks is skipped. No test
 * asserts anything that the contract leaves open.
 *
 * @returns the rules and titles that were registered, including skipped ones
 */
export function contractSuite(target: ContractTarget): RuleBook {
  const book = new RuleBook();
  const client = new ServiceClient(target);
  describe("service contract", () => {
    overviewRules(book, client);
    inputRules(book, client);
    taskRules(book, client);
    stateRules(book, client);
    createRules(book, client);
    readRules(book, client);
    authenticationRules(book, client);
    limitRules(book, client);
    afterAll(() => {
      expect(client.createdIds.size, "tasks created, against what was reported").toBeLessThanOrEqual(
        MAX_SUITE_TASKS,
      );
    });
  });
  return book;
}
