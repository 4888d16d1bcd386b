/** Node's permission model: one generation of the built bin with just what it needs, and doctor about what is missing. */
import { realpathSync } from "node:fs";
import { dirname } from "node:path";
import { describe, expect, it } from "vitest";
import { closeBenchesAfterEach, openBench } from "../faults/bench.ts";
import { BIN, errorOf, taskOf, textOf } from "../support/workplace.ts";
import { doctor } from "./scene.ts";

closeBenchesAfterEach();

/** Newer Nodes guard the network as well. */
const NET = process.allowedNodeEnvironmentFlags.has("--allow-net") ? ["--allow-net"] : [];

/** The program itself, its own two folders with the one above them, and no more. */
const permission = (root: string, writable: readonly string[]): string[] => [
  "--permission",
  ...NET,
  ...[dirname(BIN), root].map((path) => `--allow-fs-read=${path}`),
  ...writable.map((path) => `--allow-fs-write=${path}`),
];

describe("under node --permission", () => {
  it("generates, saves, repeats and reads, without the flush that Node forbids there", async () => {
    const bench = await openBench();
    const { workplace } = bench;
    const nodeArgs = permission(realpathSync(workplace.root), [workplace.root]);
    const server = await bench.another({}, { nodeArgs });
    const call = { prompt: "Permitted", file_name: "permitted" };
    const { audio } = taskOf(await server.call("generate_audio", call));
    expect(audio?.size_bytes).toBe(20_000);
    expect(taskOf(await server.call("generate_audio", call)).replayed).toBe(true);
    expect(await server.request("resources/read", { uri: audio?.uri })).toHaveProperty("result.contents");
    expect(await workplace.outputNames()).toEqual(["permitted.mp3"]);
    expect(await server.end()).toMatchObject({ code: 0 });
    const checks = await doctor(workplace.env(bench.service), { nodeArgs });
    expect(Object.values(checks).filter(({ ok }) => !ok)).toEqual([]);
  });

  it("without the right to write the output folder nothing is paid, and the permission is named", async () => {
    const bench = await openBench();
    const { workplace } = bench;
    const nodeArgs = permission(workplace.root, [workplace.stateDir]);
    const server = await bench.another({}, { nodeArgs });
    const outcome = await server.call("generate_audio", { prompt: "Not permitted" });
    expect(errorOf(outcome).code).toBe("output_not_writable");
    expect(textOf(outcome)).toContain("Node.js was started without the permission (ERR_ACCESS_DENIED)");
    expect(bench.service.count("create")).toBe(0);
  });
});
