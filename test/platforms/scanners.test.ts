/** Virus scanners and indexers, which lock a file for a moment after it was written. */
import { expect, it } from "vitest";
import { closeAfterEach, openFaultSetup } from "../faults/fault-setup.ts";
import { errorOf, generate } from "../support/tool-result.ts";
import { preload } from "./run-bin.ts";

closeAfterEach();

const nodeArgs = preload("fs-faults");
const env = (...list: object[]) => ({ TEST_FS_FAULTS: JSON.stringify(list) });

it.each(["EBUSY", "EPERM", "EACCES"])(
  "saves the audio and leaves no temporary file if removals or renames fail with %s at first",
  async (code) => {
    const setup = await openFaultSetup({
      env: env(
        { call: "promises.link", code: "EIO" },
        { call: "promises.rename", code, times: 2 },
        { call: "promises.unlink", code, times: 3 },
      ),
      start: { nodeArgs },
    });
    const call = { prompt: "Scanned", file_name: "scanned" };
    expect((await generate(setup.server, call)).status).toBe("succeeded");
    expect(await setup.testFolders.outputNames()).toEqual(["scanned.mp3"]);
  },
);

it("a file that another program is reading is not considered changed", async () => {
  const setup = await openFaultSetup();
  const call = { prompt: "In use", file_name: "used" };
  await generate(setup.server, call);
  const scanned = await setup.another(
    env({ call: "promises.open", code: "EBUSY", times: 2, path: "used.mp3" }),
    { nodeArgs },
  );
  expect((await generate(scanned, call)).replayed).toBe(true);
  expect(setup.service.count("content")).toBe(1);
});

it("a rename that stays forbidden is reported soon", async () => {
  const setup = await openFaultSetup({
    env: env({ call: "promises.link", code: "EPERM" }, { call: "promises.rename", code: "EPERM" }),
    start: { nodeArgs },
  });
  const beganAtMs = performance.now();
  const outcome = await setup.server.call("generate_audio", { prompt: "Forbidden for good" });
  expect(errorOf(outcome).code).toBe("output_not_writable");
  expect(performance.now() - beganAtMs).toBeLessThan(20_000);
});
