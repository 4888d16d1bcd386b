/**
 * The moments at which a process is killed. Each is detected outside the process: at the service, in the ledger or in
 * the folder.
 */
import { existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Exchange, ExchangeKind } from "../support/fake-service.ts";
import type { LedgerRecord } from "../support/ledger-rows.ts";
import type { CrashSetup } from "./crash-setup.ts";

export interface KillPoint {
  readonly when: string;
  /** Resolves when the process that makes the call has reached the point. */
  readonly reach: (setup: CrashSetup) => Promise<void>;
  /** Whether the record, the service and the folder show that the process was killed at the point. */
  readonly leaves: (record: LedgerRecord | undefined, setup: CrashSetup) => boolean;
}

/** Enough time to read a response on loopback. */
const READ_MS = 40;

/** Waits for the first exchange of the kind, and leaves it unanswered. */
function unanswered(setup: CrashSetup, kind: ExchangeKind): Promise<Exchange> {
  return new Promise((resolve) => {
    setup.service.intercept = (exchange) => {
      if (exchange.kind !== kind || exchange.ordinal > 1) return false;
      resolve(exchange);
      return true;
    };
  });
}

async function inLedger(setup: CrashSetup, reached: (record: LedgerRecord) => boolean): Promise<void> {
  const ledgerController = await setup.ledgerController();
  await ledgerController.freezeWhen((records) => records.some(reached));
}

function folder(setup: CrashSetup): Array<{ name: string; bytes: number }> {
  const { outputDir } = setup.testFolders;
  if (!existsSync(outputDir)) return [];
  return readdirSync(outputDir).flatMap((name) => {
    const bytes = statSync(join(outputDir, name), { throwIfNoEntry: false })?.size;
    return bytes === undefined ? [] : [{ name, bytes }];
  });
}

async function inFolder(setup: CrashSetup, reached: (name: string, bytes: number) => boolean): Promise<void> {
  const giveUpAtMs = performance.now() + 10_000;
  while (!folder(setup).some(({ name, bytes }) => reached(name, bytes))) {
    if (performance.now() > giveUpAtMs) throw new Error("the folder never came to the awaited point");
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const audioBytes = (setup: CrashSetup): number => [...setup.service.tasks.values()][0]?.audio.length ?? -1;

export const KILL_POINTS: readonly KillPoint[] = [
  {
    when: "after the lease was acquired, before anything was sent",
    reach: async (setup) => {
      const ledgerController = await setup.ledgerController();
      ledgerController.slowDown("an admission");
      await ledgerController.waitUntil((records) =>
        records.some(({ status, owner }) => status === "waiting" && owner !== null),
      );
    },
    leaves: (record, setup) => record?.status === "waiting" && setup.service.tasks.size === 0,
  },
  {
    when: "as the ledger says that it is about to send",
    reach: (setup) => inLedger(setup, ({ status }) => status === "unresolved"),
    leaves: (record) => record?.status === "unresolved",
  },
  {
    when: "after the send, which the service did not take",
    reach: async (setup) => void (await unanswered(setup, "create")),
    leaves: (record, setup) => record?.status === "unresolved" && setup.service.tasks.size === 0,
  },
  {
    when: "after the send, which the service took without answering",
    reach: async (setup) => void setup.service.accept(await unanswered(setup, "create")),
    leaves: (record, setup) => record?.status === "unresolved" && setup.service.tasks.size === 1,
  },
  {
    when: "in the middle of the 202",
    reach: (setup) =>
      new Promise((resolve) => {
        setup.service.intercept = (exchange, response) => {
          if (exchange.kind !== "create" || exchange.ordinal > 1) return false;
          setup.service.accept(exchange);
          response.writeHead(202, { "content-type": "application/json", "content-length": 400 });
          response.write('{"id":"task-', () => resolve());
          return true;
        };
      }),
    leaves: (record, setup) => record?.status === "unresolved" && setup.service.tasks.size === 1,
  },
  {
    when: "after the 202, before it was recorded",
    reach: async (setup) => {
      const ledgerController = await setup.ledgerController();
      await new Promise<void>((resolve) => {
        setup.service.intercept = (exchange, response) => {
          if (exchange.kind !== "create") return false;
          // Locks the ledger, so that the process can read the response but not record it.
          ledgerController.hold();
          response.once("finish", () => resolve());
          return false;
        };
      });
      await sleep(READ_MS);
    },
    leaves: (record, setup) => record?.status === "unresolved" && setup.service.tasks.size === 1,
  },
  {
    when: "when the task id was recorded",
    reach: (setup) => inLedger(setup, ({ task_id }) => task_id !== null),
    leaves: (record) => record?.status === "queued",
  },
  {
    when: "while watching",
    reach: async (setup) => void (await unanswered(setup, "query")),
    leaves: (record) => record?.status === "queued" || record?.status === "processing",
  },
  {
    when: "after the end was seen, while it is recorded",
    reach: async (setup) => {
      const ledgerController = await setup.ledgerController();
      ledgerController.slowDown("the end of a task");
      await new Promise<void>((resolve) => {
        setup.service.intercept = (exchange, response, service) => {
          const isLast = exchange.kind === "query" && service.runningTaskCount === 0;
          if (isLast) response.once("finish", () => resolve());
          return false;
        };
      });
      await sleep(READ_MS);
    },
    leaves: (record, setup) => record?.finished_at_ms === null && setup.service.count("content") === 0,
  },
  {
    when: "before the download is answered",
    reach: async (setup) => void (await unanswered(setup, "content")),
    leaves: (record) => record?.status === "succeeded" && record.files.length === 0,
  },
  {
    when: "in the middle of the download",
    reach: async (setup) => {
      await new Promise<void>((resolve) => {
        setup.service.intercept = (exchange, response, service) => {
          if (exchange.kind !== "content" || exchange.ordinal > 1) return false;
          const audio = service.tasks.get(exchange.taskId ?? "")?.audio ?? Buffer.alloc(0);
          response.writeHead(200, {
            "content-type": "application/octet-stream",
            "content-length": audio.length,
          });
          response.write(audio.subarray(0, audio.length / 2), () => resolve());
          return true;
        };
      });
      await inFolder(setup, (name, bytes) => name.endsWith(".part") && bytes > 0);
    },
    leaves: (record, setup) =>
      record?.files.length === 0 && folder(setup).every(({ bytes }) => bytes < audioBytes(setup)),
  },
  {
    when: "when every byte has been written, before it has its name",
    reach: async (setup) => {
      setup.service.intercept = (exchange, response, service) => {
        if (exchange.kind !== "content" || exchange.ordinal > 1) return false;
        // The response has no length and never ends, so the process cannot know whether the audio is complete.
        response.writeHead(200, { "content-type": "application/octet-stream" });
        response.write(service.tasks.get(exchange.taskId ?? "")?.audio);
        return true;
      };
      await inFolder(setup, (name, bytes) => name.endsWith(".part") && bytes === audioBytes(setup));
    },
    leaves: (record) => record?.files.length === 0,
  },
  {
    when: "when the file has its name, before it was recorded",
    reach: async (setup) => {
      (await setup.ledgerController()).slowDown("a saved file");
      await inFolder(setup, (name, bytes) => name.endsWith(".mp3") && bytes === audioBytes(setup));
    },
    leaves: (record, setup) =>
      record?.files.length === 0 && folder(setup).some(({ name }) => name.endsWith(".mp3")),
  },
  {
    when: "when the file was recorded, before anybody was informed",
    reach: (setup) => inLedger(setup, ({ files }) => files.length === 1),
    leaves: (record) => record?.files.length === 1,
  },
];
