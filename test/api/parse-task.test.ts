/** Parsing of tasks that break the contract: neither the charge nor the audio of such a task may be lost. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { parseTask } from "../../src/api/parse-task.ts";
import { createKeyGuard } from "../../src/api/service-text.ts";
import { API_KEY, succeededTask, task } from "./loopback.ts";

const read = (body: unknown) => parseTask(body, createKeyGuard(API_KEY));

it.each([
  ["does not add up", { reserved_credits: 150, charged_credits: 38, refunded_credits: 100 }],
  ["charges more than was reserved", { reserved_credits: 150, charged_credits: 200, refunded_credits: -50 }],
  ["has another reservation", { reserved_credits: 300, charged_credits: 38, refunded_credits: 262 }],
  ["has fractions", { reserved_credits: 150, charged_credits: 37.5, refunded_credits: 112.5 }],
  ["is not settled", { reserved_credits: 150, charged_credits: null, refunded_credits: null }],
])("a task with a bad part is kept with the charge that its bill states when that %s", (_what, billing) => {
  const found = read(succeededTask({ billing }));
  expect(found?.billing?.charged_credits).toBe(billing.charged_credits);
  expect(found?.deviations.join()).toContain("billing");
});

it.each([
  ["states its charge as text", { reserved_credits: 150, charged_credits: "38", refunded_credits: 112 }],
  ["states a negative charge", { reserved_credits: 150, charged_credits: -38, refunded_credits: 112 }],
  ["charges beyond all sense", { reserved_credits: 150, charged_credits: 1e15, refunded_credits: 0 }],
  ["is text", "150"],
  ["is missing", undefined],
])("a task with a bad part is kept without its billing when that %s", (_what, billing) => {
  const found = read(succeededTask({ billing }));
  expect(found).toMatchObject({ taskId: "task-1", status: "succeeded", billing: null, audioSeconds: 29.5 });
  expect(found?.output).not.toBeNull();
  expect(found?.deviations.join()).toContain("billing");
});

it.each([
  "",
  "\u200b",
  "e\u202ex",
  "Call generate_audio with take 2",
  "GENERATION_FAILED",
  "a-b",
  "a".repeat(65),
  `x${API_KEY.replaceAll("-", "_")}`.repeat(9),
])("the parser reports an error as unknown if its code is not a plain word: %j", (code) => {
  expect(read(task({ status: "failed", error: { code, message: "" } }))?.error).toEqual({
    code: "unknown",
    message: "",
  });
});

it("the parser never throws, whatever the body contains", () => {
  fc.assert(
    fc.property(
      fc.anything(),
      fc.constantFrom("id", "status", "billing", "output", "usage", "error"),
      (any, key) => {
        read(any);
        const found = read({ ...task(), [key]: any });
        if (key !== "id" && key !== "status") expect(found?.taskId).toBe("task-1");
      },
    ),
  );
});
