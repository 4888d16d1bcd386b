import { expect, it } from "vitest";
import { deriveVariation } from "../../../src/sandbox/tasks/task-processor.ts";
import { expectError } from "../../contract/service-client.ts";
import { startTestSandbox } from "../test-sandbox.ts";

it.each([
  ["an own __proto__", '{"prompt":"hi","__proto__":{"voice":"x"}}'],
  ["a constructor field", '{"prompt":"hi","constructor":1}'],
  ["deep nesting", `{"prompt":"hi","audio_references":${"[".repeat(15_000)}${"]".repeat(15_000)}}`],
  ["half of a surrogate pair", '{"prompt":"\\ud83d"}'],
  ["a trailing comma", '{"prompt":"hi",}'],
  ["an empty body", ""],
])("input of a creation refuses %s", async (_, body) => {
  const { client } = await startTestSandbox();
  expectError(await client.create(undefined, { body }), 400, "invalid_request");
});

it("input of a creation keeps line breaks, and passes the defaults of the contract to the speech engine", async () => {
  const { client, speech } = await startTestSandbox();
  const { id } = await client.created({ prompt: "a\n\r\n b " });
  await client.finished(id);
  expect(speech.requests).toEqual([
    {
      prompt: "a\n\r\n b ",
      voice: undefined,
      output_format: "mp3",
      sample_rate: 24000,
      speed: 1,
      volume: 1,
      pitch: 0,
      variation: deriveVariation(id),
    },
  ]);
});
