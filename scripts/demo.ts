/** Shows the main job as a newcomer sees it: the built bin over stdio with the official client, against the sandbox. */
import { homedir } from "node:os";
import { join } from "node:path";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { z } from "zod";

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

const say = (line: string): void => console.log(line);
const seconds = (ms: number): string => `${(ms / 1000).toFixed(1)} s`;

const client = new Client({ name: "audio-generation-demo", version: "1.0.0" });
const transport = new StdioClientTransport({
  command: process.execPath,
  args: [join(import.meta.dirname, "..", "dist", "main.js"), "--sandbox"],
  env: {
    HOME: homedir(),
    AUDIO_POLL_INTERVAL_SECONDS: "0.5",
    ...(process.env["AUDIO_OUTPUT_DIR"] === undefined
      ? {}
      : { AUDIO_OUTPUT_DIR: process.env["AUDIO_OUTPUT_DIR"] }),
    ...(process.env["AUDIO_STATE_DIR"] === undefined
      ? {}
      : { AUDIO_STATE_DIR: process.env["AUDIO_STATE_DIR"] }),
  },
});

async function call<T>(schema: z.ZodType<T>, name: string, args: Record<string, unknown>): Promise<T> {
  const beganAt = performance.now();
  const result = await client.callTool(
    { name, arguments: args },
    {
      onprogress: ({ message }) =>
        say(`    … ${seconds(performance.now() - beganAt).padStart(6)}  ${message ?? ""}`),
    },
  );
  if (result.isError === true) throw new Error(JSON.stringify(result.content));
  return schema.parse(result.structuredContent);
}

async function narrate(): Promise<z.infer<typeof generated>> {
  const beganAt = performance.now();
  const result = await call(generated, "generate_audio", { prompt: PROMPT, voice: "sophie_en_zh" });
  say(`    done in ${seconds(performance.now() - beganAt)}`);
  return result;
}

const startedAt = performance.now();
await client.connect(transport);
say(
  `Connected to the server in ${Math.round(performance.now() - startedAt)} ms. No account, no key: it runs against its own sandbox.\n`,
);

say("1. list_voices, English:");
const voices = await call(voiceList, "list_voices", { language: "en" });
say(`    ${voices.count} voices: ${voices.voices.map(({ name }) => name).join(", ")}\n`);

say(`2. generate_audio: ${JSON.stringify(PROMPT)}`);
const first = await narrate();
say("");

say("3. generate_audio, the very same call again:");
const second = await narrate();
const isSame = second.task_id === first.task_id && second.audio.path === first.audio.path;
if (!second.replayed || !isSame) throw new Error("the repeat was not recognised");
say(`    replayed: the same task, the same file, 0 credits\n`);

await client.close();

const { audio, audio_seconds: length, billing } = first;
say("Result");
say(`    file      ${audio.path}`);
say(
  `    audio     ${audio.format}, ${audio.sample_rate} Hz, ${length.toFixed(3)} s, ${audio.size_bytes} bytes`,
);
say(`    cost      ${billing.charged_credits} credits (150 reserved, ${billing.refunded_credits} returned)`);
say("    asked again: nothing more");
