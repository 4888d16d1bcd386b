/** The result with the audio says if the voice does not speak the language of the text. */
import { beforeEach, expect, it } from "vitest";
import { FAST } from "../support/bin-under-test.ts";
import { openClientEach, openFoldersEach, openServiceEach } from "../support/e2e-setup.ts";
import { startToolClient } from "../support/tool-client.ts";
import { resultTextOf, taskOf } from "../support/tool-result.ts";

const service = openServiceEach();
const testFolders = openFoldersEach();
const client = openClientEach(() => startToolClient(testFolders.env(service, FAST)));
beforeEach(() => {
  service.processingMs = 20;
});

const FRENCH =
  "Le vieux port est vide, et les bateaux ne sont pas dans la rade. Il pleut sur une mer qui dort.";
const ENGLISH = "The old harbour was empty, and the boats that were there had been sold with the rest of it.";

it.each([
  ["no voice speaks", FRENCH, {}, "The text seems to be in French, which no voice of the service speaks."],
  [
    "its voice does not speak",
    ENGLISH,
    { voice: "felix_zh" },
    "The text seems to be in English, which the voice felix_zh does not speak.",
  ],
])("a text in a language that %s is reported with its audio", async (_, prompt, settings, note) => {
  const outcome = await client.call("generate_audio", { prompt, ...settings, wait_seconds: 40 });
  expect(resultTextOf(outcome)).toContain(note);
  expect(taskOf(outcome).message).toContain(note);
});

it("the language of a text is not reported if the voice speaks it, or the text is too short to detect", async () => {
  for (const call of [
    { prompt: ENGLISH, voice: "sophie_en_zh" },
    { prompt: ENGLISH },
    { prompt: "Bonjour." },
  ]) {
    const outcome = await client.call("generate_audio", { ...call, wait_seconds: 40 });
    expect(resultTextOf(outcome)).not.toContain("seems to be in");
  }
});
