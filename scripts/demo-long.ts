/** Shows a long text: the plan and its price, the parts, the joined file, and the same call again. */
import { basename, join } from "node:path";
import { z } from "zod";
import { DemoServer, say, seconds } from "./demo-server.ts";

/** The first chapter of a book in the public domain. */
const CHAPTER = join(import.meta.dirname, "..", "assets", "alice-chapter-1.md");

const narration = z.object({
  narration_id: z.string(),
  status: z.string(),
  message: z.string(),
  parts: z.object({ total: z.int(), saved: z.int() }),
  credits: z.object({ estimate: z.int(), charged: z.int(), suggested_max: z.int().optional() }),
  files: z.array(
    z.object({ path: z.string(), duration_seconds: z.number(), captions_path: z.string().optional() }),
  ),
});

// Make limit windows and waits twenty times shorter, such as the minute in which the service accepts six submissions.
// Otherwise the demo would take three minutes.
const server = new DemoServer({ AUDIO_TIME_SCALE: "0.05", AUDIO_INPUT_DIR: join(CHAPTER, "..") });
await server.start();

const ask = { file: basename(CHAPTER), voice: "sophie_en_zh" };
say(`1. narrate ${basename(CHAPTER)}, without a limit: only a plan`);
const plan = await server.call(narration, "narrate", ask);
say(`    ${plan.message}\n`);

const limit = plan.credits.suggested_max ?? plan.credits.estimate;
say(`2. narrate, at most ${limit} credits`);
const beganAt = performance.now();
const done = await server.call(narration, "narrate", { ...ask, max_credits: limit, wait_seconds: 600 });
if (done.status !== "finished") throw new Error(done.message);
say(
  `    done in ${seconds(performance.now() - beganAt)} (the limits of the service made 20 times shorter)\n`,
);

say("3. narrate, the very same call again");
const again = await server.call(narration, "narrate", { ...ask, max_credits: limit });
const isSame = again.files[0]?.path === done.files[0]?.path && again.credits.charged === done.credits.charged;
if (!isSame) throw new Error("the repeat was not recognised");
say("    the same file, nothing sent, nothing charged\n");
await server.close();

const [file] = done.files;
say("Result");
say(`    file      ${file?.path}`);
say(`    captions  ${file?.captions_path}`);
say(`    audio     ${file?.duration_seconds.toFixed(3)} s in ${done.parts.total} parts, joined exactly`);
say(`    cost      ${done.credits.charged} credits (about ${plan.credits.estimate} were expected)`);
