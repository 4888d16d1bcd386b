/** Shows the main job as a newcomer sees it: one short text to one file, and the same call again. */
import { z } from "zod";
import { DemoServer, say, seconds } from "./demo-server.ts";

const PROMPT =
  "Hello! This narration was made by an assistant, paid for once, and saved as a file. Asking again costs nothing.";

const generated = z.object({
  task_id: z.string(),
  replayed: z.boolean(),
  billing: z.object({ charged_credits: z.int(), refunded_credits: z.int() }),
  audio: z.object({
    path: z.string(),
    format: z.string(),
    sample_rate: z.int(),
    size_bytes: z.int(),
  }),
  audio_seconds: z.number(),
});

const voiceList = z.object({
  count: z.int(),
  voices: z.array(z.object({ id: z.string(), name: z.string() })),
});

const server = new DemoServer({ AUDIO_POLL_INTERVAL_SECONDS: "0.5" });

async function narrate(): Promise<z.infer<typeof generated>> {
  const beganAt = performance.now();
  const result = await server.call(generated, "generate_audio", { prompt: PROMPT, voice: "sophie_en_zh" });
  say(`    done in ${seconds(performance.now() - beganAt)}`);
  return result;
}

await server.start();

say("1. list_voices, English:");
const voices = await server.call(voiceList, "list_voices", { language: "en" });
say(`    ${voices.count} voices: ${voices.voices.map(({ name }) => name).join(", ")}\n`);

say(`2. generate_audio: ${JSON.stringify(PROMPT)}`);
const first = await narrate();
say("");

say("3. generate_audio, the very same call again:");
const second = await narrate();
const isSame = second.task_id === first.task_id && second.audio.path === first.audio.path;
if (!second.replayed || !isSame) throw new Error("the repeat was not recognised");
say(`    replayed: the same task, the same file, 0 credits\n`);

await server.close();

const { audio, audio_seconds: length, billing } = first;
say("Result");
say(`    file      ${audio.path}`);
say(
  `    audio     ${audio.format}, ${audio.sample_rate} Hz, ${length.toFixed(3)} s, ${audio.size_bytes} bytes`,
);
say(`    cost      ${billing.charged_credits} credits (150 reserved, ${billing.refunded_credits} returned)`);
say("    asked again: nothing more");
