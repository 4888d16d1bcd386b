/** Measures the start: spawn to `initialize` answered and to `tools/list` answered, and memory after it, side by side. */
import { BARE_NODE, minimalServer, OURS, type Program, peers } from "./contenders.ts";
import { atMost, printSamples, ratio, type Sample, sideBySide, type Verdict } from "./measure.ts";
import { RawClient } from "./raw-client.ts";

async function timeTo(program: Program, until: "initialize" | "tools/list"): Promise<number> {
  const client = new RawClient(program);
  try {
    await client.initialize();
    if (until === "tools/list") await client.request("tools/list", {});
    return performance.now() - client.startedAt;
  } finally {
    await client.stop();
  }
}

async function residentAfterStart(program: Program): Promise<number> {
  const client = new RawClient(program);
  try {
    await client.initialize();
    await new Promise((resolve) => setTimeout(resolve, 300));
    return client.residentMiB();
  } finally {
    await client.stop();
  }
}

export async function benchStart(rounds: number): Promise<{ samples: Sample[]; verdicts: Verdict[] }> {
  const minimal = await minimalServer();
  const rivals = peers();
  const programs = [BARE_NODE, minimal, OURS, ...rivals];
  const contenders = (measure: (program: Program) => Promise<number>) =>
    programs.map((program) => ({ name: program.name, measure: () => measure(program) }));
  const initialized = await sideBySide(
    contenders((program) => timeTo(program, "initialize")),
    "ms",
    rounds,
  );
  printSamples("Start: spawn to initialize answered", initialized);
  const listed = await sideBySide(
    contenders((program) => timeTo(program, "tools/list")),
    "ms",
    rounds,
  );
  printSamples("Start: spawn to tools/list answered", listed);
  const memory = await sideBySide(
    [BARE_NODE, minimal, OURS].map((program) => ({
      name: program.name,
      measure: () => residentAfterStart(program),
    })),
    "MiB",
    rounds,
  );
  printSamples("Memory: resident after the handshake", memory);
  const fastest = initialized
    .filter(({ name }) => rivals.some((rival) => rival.name === name))
    .sort((a, b) => a.median - b.median)[0];
  return {
    samples: [...initialized, ...listed, ...memory],
    verdicts: [
      atMost("start", "to initialize, over bare Node", ratio(initialized, OURS.name, BARE_NODE.name), 2),
      atMost("start", "to tools/list, over bare Node", ratio(listed, OURS.name, BARE_NODE.name), 2.2),
      atMost(
        "start",
        "to initialize, over the minimal server",
        ratio(initialized, OURS.name, minimal.name),
        1,
      ),
      atMost(
        "start",
        `to initialize, over the fastest peer (${fastest?.name ?? "none reached"})`,
        fastest === undefined ? Number.NaN : ratio(initialized, OURS.name, fastest.name),
        0.55,
      ),
      atMost(
        "memory",
        "after the handshake, over the minimal server",
        ratio(memory, OURS.name, minimal.name),
        1,
      ),
      atMost("memory", "after the handshake, over bare Node", ratio(memory, OURS.name, BARE_NODE.name), 1.35),
    ],
  };
}
