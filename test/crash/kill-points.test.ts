/**
 * The bin is killed with SIGKILL at every step of a generation. Then a new process gets the same call
 * (test/faults/README.md, Create and Download).
 */
import { afterEach, expect, it } from "vitest";
import { AUDIO_BYTES, CrashSetup } from "./crash-setup.ts";
import { KILL_POINTS } from "./kill-points.ts";

const CALL = { prompt: "Killed and asked again" };

let setup: CrashSetup;
afterEach(() => setup.close());

it.each(KILL_POINTS)(
  "a process killed $when: the same call ends with one task, one reservation, one whole file",
  async (point) => {
    setup = await CrashSetup.set({ audioBytes: 3 * AUDIO_BYTES });
    const killTarget = await setup.start();
    // Creates the ledger, so that a kill point can watch the ledger.
    await killTarget.call("list_tasks", {});
    const reached = point.reach(setup);
    const lost = killTarget.call("generate_audio", CALL).catch(() => undefined);
    await setup.killAt(killTarget, reached);
    await lost;
    const [record] = (await setup.ledgerController()).records();
    expect(point.leaves(record, setup), `${record?.status} ${record?.task_id}`).toBe(true);

    setup.service.intercept = undefined;
    await setup.ageLeftovers();
    const successor = await setup.start();
    await setup.checkFinalState(await successor.call("generate_audio", CALL));
    expect(new Set(setup.service.exchanges.flatMap(({ key }) => key ?? [])).size).toBe(1);
  },
);
