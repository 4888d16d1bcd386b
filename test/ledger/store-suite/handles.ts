/**
 * What every store must do for handles: open, cancel and end them, each in one transaction with their record or
 * narration.
 */
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import type { RequestRecord } from "../../../src/ledger/record.ts";
import type { CallHandle, SaveOptions } from "../../../src/ledger/rules/call-handle.ts";
import { reasonOf, type StoreBench, type StoreSetup } from "./store-setup.ts";

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
): Promise<CallHandle> {
  const draft = { handleId: randomUUID(), apiKeyId, targetId, openedAtMs: 10 };
  const handle = await setup.store().callHandles.open(draft, saveOptions);
  if (handle === null) throw new Error("not opened");
  return handle;
}

export function handlesSuite(_bench: () => StoreBench, newDesk: () => StoreSetup): void {
  describe("a handle of a record", () => {
    it("is shared, and known to its own key alone", async () => {
      const setup = newDesk();
      const record = await waiting(setup);
      const handle = await opened(setup, record);
      expect(await opened(setup, record)).toEqual(handle);
      expect(await opened(setup, record, { ...SAVE_OPTIONS, fileName: "a" })).not.toEqual(handle);
      expect(await setup.store("another").callHandles.find(handle.handleId)).toEqual(handle);
      expect(await setup.neighbour().store().callHandles.find(handle.handleId)).toBeNull();
      expect(await setup.store().callHandles.find(randomUUID())).toBeNull();
    });

    it("is not opened for a missing record", async () => {
      const { apiKeyId, ...setup } = newDesk().record();
      const draft = { handleId: randomUUID(), apiKeyId, targetId: setup.recordId, openedAtMs: 10 };
      expect(await newDesk().store().callHandles.open(draft, SAVE_OPTIONS)).toBeNull();
    });

    it("prevents the send of a create once it is cancelled, unless a call or another handle wants it", async () => {
      const setup = newDesk();
      const record = await waiting(setup);
      const handle = await opened(setup, record);
      expect(await setup.store("other").callHandles.cancel(handle, 20)).toMatchObject({
        end: { kind: "cancelled" },
        endedAtMs: 20,
      });
      expect(reasonOf(await setup.ask({ isForCallHandles: true }, { record }))).toBe("not_wanted");
      expect(await setup.store().callHandles.hasWanted(record.recordId)).toBe(false);
      await opened(setup, record, { ...SAVE_OPTIONS, fileName: "a" });
      expect(await setup.store().callHandles.hasWanted(record.recordId)).toBe(true);
      expect(reasonOf(await setup.ask({ isForCallHandles: true }, { record }))).toBe("admitted");
      const plain = await waiting(setup);
      await setup.store().callHandles.cancel(await opened(setup, plain), 20);
      expect(reasonOf(await setup.ask({}, { record: plain }))).toBe("admitted");
    });

    it("that is cancelled while its create is sent ends if the create was not accepted", async () => {
      const setup = newDesk();
      const record = await waiting(setup);
      const handle = await opened(setup, record);
      const sent = await setup.ask({ isForCallHandles: true }, { record });
      const asked = await setup.store().callHandles.cancel(handle, 20);
      expect(asked).toMatchObject({ end: null, cancelRequestedAtMs: 20 });
      // A create that may have arrived is completed.
      const repeat = { record: sent.record };
      expect(reasonOf(await setup.ask({ isForCallHandles: true }, repeat))).toBe("admitted");
      const unanswered = await setup.stored(record);
      if (unanswered === undefined) throw new Error("not stored");
      await setup.change(unanswered, { status: "waiting", spend: null });
      expect(await setup.store().callHandles.find(handle.handleId)).toMatchObject({
        end: { kind: "cancelled" },
      });
    });

    it("ends once, even if the end is written twice", async () => {
      const setup = newDesk();
      const handle = await opened(setup, await waiting(setup));
      const done = await setup.store().callHandles.end(handle, { kind: "done" }, 30);
      expect(done).toMatchObject({ end: { kind: "done" }, endedAtMs: 30 });
      expect(await setup.store().callHandles.end(handle, { kind: "error" }, 40)).toEqual(done);
      expect(await setup.store().callHandles.cancel(handle, 50)).toEqual(done);
    });

    it("ends with its failed attempt, in the transaction that begins the next one", async () => {
      const setup = newDesk();
      const record = await waiting(setup);
      const handle = await opened(setup, record);
      const failed = await setup.change(record, { status: "failed", taskId: "task-1" });
      const next = await opened(setup, failed);
      expect(next.attempt).toBe(2);
      const error = { code: "task_failed", message: "lost" };
      const again = { status: "waiting", taskId: null, attempt: 2 } as const;
      await setup.write(failed, again, { failed: { attempt: 1, error, atMs: 70 } });
      expect(await setup.store().callHandles.find(handle.handleId)).toMatchObject({
        end: { kind: "error", error },
        endedAtMs: 70,
      });
      expect(await setup.store().callHandles.find(next.handleId)).toEqual(next);
    });
  });

  describe("a handle of a narration", () => {
    it("is written with the narration's state, or not at all", async () => {
      const setup = newDesk();
      const { narrations } = setup.store();
      const narrationId = `nar_${randomUUID()}`;
      await narrations.insert({ narrationId, plan: "{}", state: "planned", createdAtMs: 1 });
      const handle: CallHandle = {
        handleId: randomUUID(),
        kind: "narration",
        apiKeyId: setup.apiKeyId,
        targetId: narrationId,
        openedAtMs: 10,
        attempt: 1,
        saveOptions: { ...SAVE_OPTIONS, replayed: false },
        cancelRequestedAtMs: null,
        endedAtMs: null,
        end: null,
      };
      expect(await narrations.write(narrationId, 7, "running", [handle])).toBe(false);
      expect(await setup.store().callHandles.find(handle.handleId)).toBeNull();
      expect(await narrations.write(narrationId, 1, "running", [handle])).toBe(true);
      expect((await narrations.read(narrationId))?.handles).toEqual([handle]);
      // Another process wrote an identical state. The handle of this one is kept all the same.
      const other = { ...handle, handleId: randomUUID() };
      expect(await narrations.write(narrationId, 1, "running", [other])).toBe(true);
      const ended = { ...handle, end: { kind: "ended", status: "finished" }, endedAtMs: 20 };
      expect(await narrations.write(narrationId, 2, "finished", [ended])).toBe(true);
      expect((await narrations.read(narrationId))?.handles).toEqual([other]);
      expect(await setup.store().callHandles.find(handle.handleId)).toEqual(ended);
    });
  });
}
