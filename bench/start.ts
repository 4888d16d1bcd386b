/**
 * Measures the start: from the spawn to the answer to `initialize`, and to the answer to `tools/list` after it. Also
 * measures the end: from closing stdin to the exit. Some clients kill a server that has not exited after two seconds.
 */
import { compare, type Row, report } from "./measure.ts";
import { BARE_NODE, fastestPeer, minimalServer, OURS, type Program } from "./programs.ts";
import { withServer } from "./raw-client.ts";
import { openFolder } from "./setup.ts";

const ROUNDS = 21;

const folder = await openFolder();

function timeTo(program: Program, until: "initialize" | "tools/list"): Promise<number> {
  return withServer(program, { HOME: folder.root }, async (client) => {
    if (until === "tools/list") await client.request("tools/list", {});
    return performance.now() - client.startedAtMs;
  });
}

function timeToExit(program: Program): Promise<number> {
  return withServer(program, { HOME: folder.root }, async (client) => {
    const closedAtMs = performance.now();
    await client.stop();
    return performance.now() - closedAtMs;
  });
}

const peer = fastestPeer();
const minimal = await minimalServer();
const UNTIL = ["initialize", "tools/list"] as const;
const references: ReadonlyArray<{
  readonly program: Program;
  readonly atMost?: Readonly<Record<(typeof UNTIL)[number], number>>;
}> = [
  { program: BARE_NODE },
  { program: minimal, atMost: { initialize: 1.2, "tools/list": 1.2 } },
  ...(peer === null ? [] : [{ program: peer, atMost: { initialize: 0.55, "tools/list": 0.7 } }]),
];
try {
  const rows: Row[] = [];
  for (const until of UNTIL) {
    for (const { program, atMost } of references) {
      const times = await compare(
        ROUNDS,
        () => timeTo(OURS, until),
        () => timeTo(program, until),
      );
      rows.push({
        name: `to ${until}`,
        unit: "ms",
        comparedWith: program.name,
        ...times,
        goal: atMost === undefined ? undefined : { of: "ratio", atMost: atMost[until] },
      });
    }
  }
  rows.push({
    name: "from closing stdin to the exit",
    unit: "ms",
    comparedWith: minimal.name,
    ...(await compare(
      ROUNDS,
      () => timeToExit(OURS),
      () => timeToExit(minimal),
    )),
    goal: { of: "ours", atMost: 2000 },
  });
  report(rows);
} finally {
  await folder.remove();
}
