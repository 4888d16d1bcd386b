/** Measures resident memory after the handshake, and what the first call adds while it saves 64 MiB. */
import { setTimeout as sleep } from "node:timers/promises";
import { compare, report } from "./measure.ts";
import { minimalServer, OURS, type Program } from "./programs.ts";
import { withServer } from "./raw-client.ts";
import { residentNowMiB, watchMemory } from "./resident.ts";
import { openSetup, startService } from "./setup.ts";

const ROUNDS = 11;
const AUDIO_MIB = 64;
/** Time for a server to free the memory that only its start needed. */
const WAIT_FOR_COLLECTION_MS = 300;

const setup = await openSetup(await startService(AUDIO_MIB * 2 ** 20));
let calls = 0;

function afterHandshake(program: Program): Promise<number> {
  return withServer(program, setup.env, async (client) => {
    await sleep(WAIT_FOR_COLLECTION_MS);
    return residentNowMiB(client.pid);
  });
}

function addedBySaving(): Promise<number> {
  return withServer(OURS, setup.env, async (client) => {
    await sleep(WAIT_FOR_COLLECTION_MS);
    const memory = watchMemory(client.pid);
    calls += 1;
    const result = await client.call("generate_audio", { prompt: `Memory ${calls}` });
    if (result["isError"] === true) throw new Error(JSON.stringify(result));
    return memory.grownMiB();
  });
}

try {
  const minimal = await minimalServer();
  const idle = await compare(
    ROUNDS,
    () => afterHandshake(OURS),
    () => afterHandshake(minimal),
  );
  const saving = await compare(ROUNDS, addedBySaving, () => AUDIO_MIB);
  report([
    {
      name: "after the handshake",
      unit: "MiB",
      comparedWith: minimal.name,
      ...idle,
      goal: { of: "ratio", atMost: 1 },
    },
    {
      name: "added by a first call that saves 64 MiB",
      unit: "MiB",
      comparedWith: "the file",
      ...saving,
      goal: { of: "ratio", atMost: 1 },
    },
  ]);
} finally {
  await setup.remove();
}
