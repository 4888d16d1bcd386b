/** Any prompt of the contract's length gives audio in bounded time, or is refused with the reason. */
import { afterAll, describe, expect, test } from "vitest";
import { createSpeechEngine, UnspeakablePromptError } from "../../../src/sandbox/speech/speech.ts";
import { loudness, pcmSamples } from "./measure.ts";
import { speechRequest } from "./speech-request.ts";

const LONGEST = 2048;
const filled = (text: string): string => [...text.repeat(LONGEST)].slice(0, LONGEST).join("");

/** Returns letters without a pattern, which are the same in each run. */
function scrambledLetters(): string {
  let state = 1;
  return Array.from({ length: LONGEST }, () => {
    state = (state * 1103515245 + 12345) % 2 ** 31;
    return String.fromCharCode("a".charCodeAt(0) + (Math.floor(state / 65536) % 26));
  }).join("");
}

const engine = createSpeechEngine();
afterAll(() => engine.close());

test.each([
  ["English", "I have 3 cats, it's 20% & counting.", undefined],
  ["Chinese", "你好，世界！我有3只猫。", "felix_zh"],
  ["Japanese", "こんにちは、世界。カタカナも。", "vivi_mixed_en_zh_ja_es_id"],
  ["Spanish", "¿Cómo estás? Me llamo Tracy.", "tracy_es_zh"],
  ["Portuguese", "Você não fala português?", "mindy_en_es_id_pt_zh"],
  ["Indonesian", "Selamat pagi, saya tidak tidur.", "mindy_en_es_id_pt_zh"],
  ["Russian", "Привет, мир!", undefined],
  ["Greek", "Γειά σου κόσμε", undefined],
  ["Korean", "안녕하세요 세계", undefined],
  ["Arabic", "مرحبا بالعالم", undefined],
  ["Thai", "สวัสดีชาวโลก", undefined],
  ["Hindi", "नमस्ते दुनिया", undefined],
  ["a reference", "@Audio1 says hello", undefined],
  ["markup and entities", "<b>1 < 2 & 3</b> &amp; \"quotes\" 'too'", undefined],
  ["one letter", "z", undefined],
  ["a file name", "speech.wav", undefined],
  ["an option", "--help", undefined],
] as const)("languages %s is spoken", async (_language, prompt, voice) => {
  const { bytes, audioSeconds } = await engine.speak(speechRequest({ prompt, voice }));
  expect(audioSeconds).toBeGreaterThan(0.3);
  expect(audioSeconds).toBeLessThan(10);
  expect(loudness(pcmSamples(bytes))).toBeGreaterThan(0.02);
});

test("languages the same words sound different in another language", async () => {
  const english = await engine.speak(speechRequest({ prompt: "gente", voice: "stokie_en" }));
  const spanish = await engine.speak(speechRequest({ prompt: "la gente", voice: "stokie_en" }));
  expect(Buffer.compare(english.bytes, spanish.bytes)).not.toBe(0);
});

test.each([
  ["Chinese", "哈", ""],
  ["Chinese with commas", "好", "，"],
  ["Chinese digits", "1", "", "我有", "只猫"],
  ["Spanish", "muy", " ", "¿Cómo estás? ", " bien"],
  ["Indonesian", "orang", "-", "Selamat pagi, ", " tidak tidur"],
  ["Russian", "да", " "],
])(
  "repeated text %s takes longer with each repetition",
  async (_language, syllable, between, before = "", after = "") => {
    const spoken = await Promise.all(
      [1, 2, 3, 4].map((times) =>
        engine.speak(speechRequest({ prompt: before + Array(times).fill(syllable).join(between) + after })),
      ),
    );
    const seconds = spoken.map(({ audioSeconds }) => audioSeconds);
    for (const [index, length] of seconds.entries()) {
      expect(length).toBeGreaterThan((seconds[index - 1] ?? 0) + 0.05);
    }
  },
);

test.each(["😀🎉", "👨‍👩‍👧‍👦 🇯🇵 1️⃣", "...!!!", "&", "—"])(
  "prompts without words %s is refused",
  async (prompt) => {
    await expect(engine.speak(speechRequest({ prompt }))).rejects.toBeInstanceOf(UnspeakablePromptError);
  },
);

test("prompts without words emoji beside words are skipped", async () => {
  const plain = await engine.speak(speechRequest({ prompt: "hello" }));
  const decorated = await engine.speak(speechRequest({ prompt: "😀 hello 🎉" }));
  expect(Buffer.compare(decorated.bytes, plain.bytes)).toBe(0);
});

/**
 * The tests run concurrently, because the engine has two threads. The prompts with the longest sound or the most
 * phrases use the kind of voice that takes longest to compute. The engine already takes long to read the text of the
 * other prompts, so they use the quickest kind.
 */
describe("the longest prompts", { concurrent: true, timeout: 150_000 }, () => {
  test.each([
    ["digits", filled("1234567890"), "sophie_en_zh"],
    ["sentences of one character", filled("啊。"), "sophie_en_zh"],
    ["Han characters", filled("春眠不觉晓处处闻啼鸟夜来风雨声花落知多少"), "quentin_en_zh"],
    ["one Han character", filled("语"), "quentin_en_zh"],
    ["scrambled letters", scrambledLetters(), "quentin_en_zh"],
    ["one vowel", filled("a"), "quentin_en_zh"],
    ["Arabic", filled("مرحبا"), "quentin_en_zh"],
    ["Hindi", filled("नमस्ते दुनिया "), "quentin_en_zh"],
  ] as const)("2,048 code points of %s are spoken within the limits", async (_kind, prompt, voice) => {
    const { audioSeconds } = await engine.speak(
      speechRequest({ prompt, voice, sample_rate: 8000, speed: 2 }),
    );
    expect(audioSeconds).toBeGreaterThan(20);
    expect(audioSeconds).toBeLessThanOrEqual(600);
  });
});
