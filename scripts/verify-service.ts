/**
 * Runs the contract suite against a service: reads the arguments, warns of the cost and asks for consent. The
 * rules are in test/contract/.
 */
import { once } from "node:events";
import { createInterface } from "node:readline/promises";
import { parseArgs } from "node:util";
import { startVitest } from "vitest/node";
import { MINIMUM_CHARGE_CREDITS, RESERVED_CREDITS } from "../src/contract/billing.ts";
import { MAX_CONCURRENT_TASKS } from "../src/contract/service-limits.ts";
import { MAX_SUITE_TASKS } from "../test/contract/suite-cost.ts";

const USAGE = "Usage: AUDIO_API_KEY=... npm run verify-service -- --base-url URL [--yes]";
/** The longest time for the test of one rule, which may wait for several minutes of limits and then for a task. */
const TEST_TIMEOUT_MS = 30 * 60_000;

function fail(sentence: string, exitCode: 1 | 2): never {
  process.stderr.write(`${sentence}\n`);
  process.exit(exitCode);
}

function readArguments(): { baseUrl: string; yes: boolean } {
  try {
    const { values } = parseArgs({ options: { "base-url": { type: "string" }, yes: { type: "boolean" } } });
    const baseUrl = values["base-url"]?.replace(/\/+$/, "");
    if (baseUrl === undefined || !URL.canParse(baseUrl)) fail(USAGE, 2);
    const { protocol, hostname } = new URL(baseUrl);
    // Plain http is allowed only on loopback, because every request carries the key.
    const isLoopback = ["127.0.0.1", "[::1]", "localhost"].includes(hostname);
    if (protocol !== "https:" && !(protocol === "http:" && isLoopback)) {
      fail("The base URL must be https, or http on this machine.", 2);
    }
    return { baseUrl, yes: values.yes === true };
  } catch {
    return fail(USAGE, 2);
  }
}

/** Asks for consent. Input that ends without an answer means no. */
async function consents(): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const ended = once(terminal, "close").then(() => "");
  const answer = await Promise.race([terminal.question("Go on? (yes/no) "), ended]);
  terminal.close();
  return /^y(es)?$/i.test(answer.trim());
}

const { baseUrl, yes } = readArguments();
if ((process.env["AUDIO_API_KEY"] ?? "") === "") fail(`AUDIO_API_KEY is not set. ${USAGE}`, 2);
process.stdout.write(
  `This creates at most ${MAX_SUITE_TASKS} tasks of a few words at ${baseUrl}: about ` +
    `${MAX_SUITE_TASKS * MINIMUM_CHARGE_CREDITS} credits (at most ${MAX_SUITE_TASKS * RESERVED_CREDITS}, if each ` +
    "were charged in full; more if the service accepts what it should refuse). " +
    `The account needs ${MAX_CONCURRENT_TASKS * RESERVED_CREDITS} credits for reservations and nothing in flight. ` +
    "The service's limits are kept, which takes about 20 minutes.\n",
);
if (!yes && !(await consents())) fail("Nothing was sent.", 1);
process.env["VERIFY_BASE_URL"] = baseUrl;
const vitest = await startVitest("test", [], {
  config: false,
  watch: false,
  include: ["test/contract/service.verify.ts"],
  reporters: ["verbose"],
  testTimeout: TEST_TIMEOUT_MS,
});
await vitest.close();
