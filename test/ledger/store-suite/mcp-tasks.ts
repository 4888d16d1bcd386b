/**
 * Tests of MCP tasks for every store: open, cancel and end them, each in one transaction with their record or
 * narration.
 */
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { RequestRecord } from "../../../src/ledger/record.ts";
import type { McpTask } from "../../../src/ledger/rules/mcp-task.ts";
import type { SaveOptions } from "../../../src/ledger/rules/save-options.ts";
import { reasonOf, type StoreFixture, type StoreSetup } from "./store-setup.ts";

const SAVE_OPTIONS: SaveOptions = { fileName: null, mayReplace: false };

async function waiting(setup: StoreSetup): Promise<RequestRecord> {
  const record = setup.record();
  await setup.claim(record);
  return record;
}

async function opened(
  setup: StoreSetup,
  { apiKeyId, recordId: targetId }: RequestRecord,
  saveOptions = SAVE_OPTIONS,
): Promise<McpTask> {
  const draft = { mcpTaskId: randomUUID(), apiKeyId, targetId, openedAtMs: 10 };
  const mcpTask = await setup.store().mcpTasks.open(draft, saveOptions);
  if (mcpTask === null) throw new Error("not opened");
  return mcpTask;
}

export function handlesSuite(_fixture: () => StoreFixture, newSetup: () => StoreSetup): void {
  describe("an MCP task of a record", () => {
    it("is shared, and known to its own key alone", async () => {
      const setup = newSetup();
      const record = await waiting(setup);
      const mcpTask = await opened(setup, record);
      expect(await opened(setup, record)).toEqual(mcpTask);
      expect(await opened(setup, record, { ...SAVE_OPTIONS, fileName: "a" })).not.toEqual(mcpTask);
      expect(await setup.store("another").mcpTasks.find(mcpTask.mcpTaskId)).toEqual(mcpTask);
      expect(await setup.withOtherKey().store().mcpTasks.find(mcpTask.mcpTaskId)).toBeNull();
      expect(await setup.store().mcpTasks.find(randomUUID())).toBeNull();
    });

    it("is not opened for a missing record", async () => {
      const { apiKeyId, ...setup } = newSetup().record();
      const draft = { mcpTaskId: randomUUID(), apiKeyId, targetId: setup.recordId, openedAtMs: 10 };
      expect(await newSetup().store().mcpTasks.open(draft, SAVE_OPTIONS)).toBeNull();
    });

    it("prevents the send of a submission once it is cancelled, unless a call or another MCP task wants it", async () => {
      const setup = newSetup();
      const record = await waiting(setup);
      const mcpTask = await opened(setup, record);
      expect(await setup.store("other").mcpTasks.cancel(mcpTask, 20)).toMatchObject({
        end: { kind: "cancelled" },
        endedAtMs: 20,
      });
      expect(reasonOf(await setup.ask({ hasOnlyMcpTaskCallers: true }, { record }))).toBe("not_wanted");
      expect(await setup.store().mcpTasks.hasWanted(record.recordId)).toBe(false);
      await opened(setup, record, { ...SAVE_OPTIONS, fileName: "a" });
      expect(await setup.store().mcpTasks.hasWanted(record.recordId)).toBe(true);
      expect(reasonOf(await setup.ask({ hasOnlyMcpTaskCallers: true }, { record }))).toBe("admitted");
      const plain = await waiting(setup);
      await setup.store().mcpTasks.cancel(await opened(setup, plain), 20);
      expect(reasonOf(await setup.ask({}, { record: plain }))).toBe("admitted");
    });

    it("that is cancelled while its submission is sent ends if the submission was not accepted", async () => {
      const setup = newSetup();
      const record = await waiting(setup);
      const mcpTask = await opened(setup, record);
      const sent = await setup.ask({ hasOnlyMcpTaskCallers: true }, { record });
      const asked = await setup.store().mcpTasks.cancel(mcpTask, 20);
      expect(asked).toMatchObject({ end: null, cancelRequestedAtMs: 20 });
      // A submission that may have reached the service is completed, although its caller has cancelled.
      const repeat = { record: sent.record };
      expect(reasonOf(await setup.ask({ hasOnlyMcpTaskCallers: true }, repeat))).toBe("admitted");
      const unresolved = await setup.stored(record);
      if (unresolved === undefined) throw new Error("not stored");
      await setup.change(unresolved, { status: "waiting", spend: null });
      expect(await setup.store().mcpTasks.find(mcpTask.mcpTaskId)).toMatchObject({
        end: { kind: "cancelled" },
      });
    });

    it("ends once, even if the end is written twice", async () => {
      const setup = newSetup();
      const mcpTask = await opened(setup, await waiting(setup));
      const done = await setup.store().mcpTasks.end(mcpTask, { kind: "done" }, 30);
      expect(done).toMatchObject({ end: { kind: "done" }, endedAtMs: 30 });
      expect(await setup.store().mcpTasks.end(mcpTask, { kind: "error" }, 40)).toEqual(done);
      expect(await setup.store().mcpTasks.cancel(mcpTask, 50)).toEqual(done);
    });

    it("ends with its failed attempt, in the transaction that begins the next one", async () => {
      const setup = newSetup();
      const record = await waiting(setup);
      const mcpTask = await opened(setup, record);
      const failed = await setup.change(record, { status: "failed", taskId: "task-1" });
      const next = await opened(setup, failed);
      expect(next.firstAttempt).toBe(2);
      const error = { code: "task_failed", message: "lost" };
      const again = { status: "waiting", taskId: null, attempt: 2 } as const;
      await setup.write(failed, again, { failedAttempt: { attempt: 1, error, atMs: 70 } });
      expect(await setup.store().mcpTasks.find(mcpTask.mcpTaskId)).toMatchObject({
        end: { kind: "error", error },
        endedAtMs: 70,
      });
      expect(await setup.store().mcpTasks.find(next.mcpTaskId)).toEqual(next);
    });
  });

  describe("an MCP task of a narration", () => {
    it("is written with the narration's state, or not at all", async () => {
      const setup = newSetup();
      const { narrations } = setup.store();
      const narrationId = `nar_${randomUUID()}`;
      await narrations.insert({ narrationId, plan: "{}", state: "planned", createdAtMs: 1 });
      const mcpTask: McpTask = {
        mcpTaskId: randomUUID(),
        kind: "narration",
        apiKeyId: setup.apiKeyId,
        targetId: narrationId,
        openedAtMs: 10,
        firstAttempt: 1,
        saveOptions: { ...SAVE_OPTIONS, replayed: false },
        cancelRequestedAtMs: null,
        endedAtMs: null,
        end: null,
      };
      expect(await narrations.write(narrationId, 7, "running", [mcpTask])).toBe(false);
      expect(await setup.store().mcpTasks.find(mcpTask.mcpTaskId)).toBeNull();
      expect(await narrations.write(narrationId, 1, "running", [mcpTask])).toBe(true);
      expect((await narrations.read(narrationId))?.mcpTasks).toEqual([mcpTask]);
      // Another process writes the state that is already stored, and names an old revision. The store adds its MCP task
      // nevertheless.
      const other = { ...mcpTask, mcpTaskId: randomUUID() };
      expect(await narrations.write(narrationId, 1, "running", [other])).toBe(true);
      const ended = { ...mcpTask, end: { kind: "ended", status: "finished" }, endedAtMs: 20 };
      expect(await narrations.write(narrationId, 2, "finished", [ended])).toBe(true);
      expect((await narrations.read(narrationId))?.mcpTasks).toEqual([other]);
      expect(await setup.store().mcpTasks.find(mcpTask.mcpTaskId)).toEqual(ended);
    });
  });
}
