/**
 * The bin is killed with SIGKILL at every step of a generation. Then a new process makes the same call (faults:
 * Create, Download).
 */
import { afterEach, describe, expect, it } from "vitest";
import { KILL_POINTS } from "./kill-points.ts";
import { AUDIO_BYTES, Scene } from "./scene.ts";

const CALL = { prompt: "Killed and asked again" };

let scene: Scene;
afterEach(() => scene.strike());

describe("a process killed", () => {
  it.each(KILL_POINTS)(
    "$when: the same call ends with one task, one reservation, one whole file",
    async (point) => {
      scene = await Scene.set({ audioBytes: 3 * AUDIO_BYTES });
      const doomed = await scene.start();
      // Creates the ledger, so that it can be watched.
      await doomed.call("list_tasks", {});
      const reached = point.reach(scene);
      const lost = doomed.call("generate_audio", CALL).catch(() => undefined);
      await scene.killAt(doomed, reached);
      await lost;
      const [record] = await (await scene.peek()).records();
      expect(point.leaves(record, scene), `${record?.status} ${record?.taskId}`).toBe(true);

      scene.service.intercept = undefined;
      await scene.ageLeftovers();
      const heir = await scene.start();
      await scene.judge(await heir.call("generate_audio", CALL));
      expect(new Set(scene.service.exchanges.flatMap(({ key }) => key ?? [])).size).toBe(1);
    },
  );
});
