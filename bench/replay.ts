/** Measures a call for audio that is already saved, compared with hashing the file. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { z } from "zod";
import { compare, report, timed } from "./measure.ts";
import { OURS } from "./programs.ts";
import { withServer } from "./raw-client.ts";
import { openSetup, startService } from "./setup.ts";

/** Many rounds, because the times of a shared disk vary more than those of a processor. */
const ROUNDS = 101;
const CALL = { prompt: "Once more" };

const answered = z.object({
  structuredContent: z.object({ replayed: z.boolean(), audio: z.object({ path: z.string() }) }),
});

const setup = await openSetup(await startService(1024 * 1024));
try {
  await withServer(OURS, setup.env, async (client) => {
    await client.call("generate_audio", CALL);
    const again = answered.parse(await client.call("generate_audio", CALL)).structuredContent;
    if (!again.replayed) throw new Error("the call was not answered from the ledger");
    const times = await compare(
      ROUNDS,
      () => timed(() => client.call("generate_audio", CALL)),
      () => timed(() => createHash("sha256").update(readFileSync(again.audio.path)).digest("hex")),
    );
    report([{ name: "1 MiB, verified", unit: "ms", comparedWith: "reading and hashing the file", ...times }]);
  });
} finally {
  await setup.remove();
}
