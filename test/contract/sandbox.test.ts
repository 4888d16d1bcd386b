/** Runs the contract suite against the sandbox, through the sandbox's public entry only. */
import { readFile } from "node:fs/promises";
import { afterAll, expect, it } from "vitest";
import { startSandbox } from "../../src/sandbox/sandbox.ts";
import { contractSuite } from "./suite.ts";
import type { FaultControls } from "./target.ts";

/**
 * The time scale shortens the limit windows, so that the tests wait for them only briefly. The processing takes long
 * enough for a test to see a task in each state.
 */
const TIME_SCALE = 0.005;
const PROCESSING_SECONDS = 0.2;

const pack = { kind: "pack", credits: 5000, state: "paid" } as const;

const sandbox = await startSandbox({
  timeScale: TIME_SCALE,
  processingSeconds: PROCESSING_SECONDS,
  accounts: {
    accounts: [
      {
        id: "studio",
        keys: [{ key: "sk-one" }, { key: "sk-two" }, { key: "sk-revoked", active: false }],
        grants: [pack],
      },
      { id: "other", keys: [{ key: "sk-other" }], grants: [pack] },
      { id: "gifted", keys: [{ key: "sk-gifted" }], grants: [{ kind: "gift", credits: 1000 }] },
      { id: "poor", keys: [{ key: "sk-poor" }], grants: [{ ...pack, credits: 149 }] },
      { id: "refunded", keys: [{ key: "sk-refunded" }], grants: [{ ...pack, state: "refunded" }] },
      { id: "partly", keys: [{ key: "sk-partly" }], grants: [{ ...pack, state: "disputed" }, pack] },
    ],
  },
});
afterAll(() => sandbox.stop());

const setFaults = async (faults: FaultControls): Promise<void> => {
  const { status } = await fetch(`${sandbox.baseUrl}/sandbox/faults`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(faults),
  });
  expect(status).toBe(204);
};

const { registered } = contractSuite({
  baseUrl: sandbox.baseUrl,
  apiKey: sandbox.apiKey,
  limitWindowMs: 60_000 * TIME_SCALE,
  pollIntervalMs: 20,
  secondKey: "sk-two",
  otherAccountKey: "sk-other",
  revokedKey: "sk-revoked",
  giftOnlyKey: "sk-gifted",
  poorKey: "sk-poor",
  refundedKey: "sk-refunded",
  partlyRefundedKey: "sk-partly",
  setFaults,
});

it("the README's table lists every rule with its tests", async () => {
  const readme = await readFile(new URL("README.md", import.meta.url), "utf8");
  const missing = registered.filter(({ rule, title }) => {
    const row = readme.split("\n").find((line) => line.split("|")[1]?.trim() === rule);
    return row?.includes(title) !== true;
  });
  expect(registered.length).toBeGreaterThan(100);
  expect(missing).toEqual([]);
});
