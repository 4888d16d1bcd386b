/**
 * Captions and chapters beside a narration's file: named in the result, labelled by speaker, and served only while
 * unchanged.
 */
import { readFile, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { expect, it } from "vitest";
import { resultTextOf, taskOf } from "../support/tool-result.ts";
import { narrationOf, openNarratorEach, paragraph } from "./narrator.ts";

const narrator = openNarratorEach();

const TEXT = `# Down\n\n${paragraph("One")}\n\n# Up\n\n${paragraph("Two")}`;
const CALL = { text: TEXT, output_format: "pcm", file_name: "book", max_credits: 1000 };

const name = (path: string | undefined): string => basename(path ?? "");

it("companions are named in the text alone and in the structured form alone", async () => {
  const outcome = await narrator.client.call("narrate", CALL);
  const [file] = narrationOf(outcome).files;
  expect([name(file?.captions_path), name(file?.chapters_path)]).toEqual(["book.vtt", "book.chapters.json"]);
  expect(resultTextOf(outcome)).toContain(
    `${file?.path} (10 s), captions ${file?.captions_path}, chapters ${file?.chapters_path}.`,
  );
});

it("captions say who speaks, with the name as a person wrote it", async () => {
  const text = "ANNA: Good evening, my friend.\n\nB & Q: Good night to you.\n\nNobody else was there.";
  const voices = ["ANNA: sophie_en_zh", "B & Q: kian_en_zh"];
  const { files } = await narrator.narrate({ text, voices, max_credits: 1000 });
  const captions = await readFile(files[0]?.captions_path ?? "", "utf8");
  expect(captions).toContain("\n<v ANNA>Good evening, my friend.");
  expect(captions).toContain("\n<v B &amp; Q>Good night to you.");
  expect(captions).toContain("\nNobody else was there.");
});

it("companions from another program stay, are not served, and are named as foreign", async () => {
  const { narration_id, files } = await narrator.narrate(CALL);
  const { captions_path = "", chapters_path = "" } = files[0] ?? {};
  await writeFile(chapters_path, '{"chapters":[{"title":"foreign"}]}');
  await rm(captions_path);
  const uri = `audio://narrations/${narration_id}/files/1`;
  for (const kind of ["captions", "chapters"]) {
    await expect(narrator.client.read(`${uri}/${kind}`)).rejects.toThrow(
      /was changed or removed since it was saved/,
    );
  }
  const reported = await narrator.client.call("narrate", { narration_id });
  const { message, files: reportedFiles } = narrationOf(reported);
  expect(reportedFiles[0]).not.toHaveProperty("captions_path");
  expect(reportedFiles[0]).not.toHaveProperty("chapters_path");
  for (const form of [message, resultTextOf(reported)]) {
    expect(form).toContain(
      `${captions_path}, ${chapters_path} were changed or removed since the narration saved them`,
    );
  }
  const again = await narrator.narrate({ narration_id, max_credits: 1000 });
  expect(again.credits.charged).toBe(20);
  expect(name(again.files[0]?.path)).toBe("book.pcm");
  expect(name(again.files[0]?.captions_path)).toBe("book.vtt");
  expect(name(again.files[0]?.chapters_path)).toBe("book.chapters-2.json");
  expect(await readFile(chapters_path, "utf8")).toContain("foreign");
  const served = await narrator.client.read(`${uri}/chapters`);
  expect(served.bytes.toString()).not.toContain("foreign");
});

it("companions whose name another file has get a number, like the audio, and the result says so", async () => {
  const { outputDir } = narrator.testFolders;
  await narrator.narrate({ text: paragraph("One"), max_credits: 1000 });
  await writeFile(join(outputDir, "book.pcm"), "foreign");
  await writeFile(join(outputDir, "book-2.vtt"), "foreign");
  const outcome = await narrator.client.call("narrate", CALL);
  const { message, files } = narrationOf(outcome);
  expect([name(files[0]?.path), name(files[0]?.captions_path)]).toEqual(["book-2.pcm", "book-2-2.vtt"]);
  for (const form of [message, resultTextOf(outcome)]) {
    expect(form).toContain('A file named "book.pcm" was there already, so a number was added.');
    expect(form).toContain('"book-2.vtt" is another file, so what lies beside the audio has a number.');
  }
  expect(await readFile(join(outputDir, "book.pcm"), "utf8")).toBe("foreign");
});

it("companions and the audio are reported as the narration's own if a request wants their name", async () => {
  const { narration_id } = await narrator.narrate(CALL);
  const call = { prompt: "Another text", output_format: "pcm", file_name: "book" };
  for (const replace of [false, true]) {
    const outcome = await narrator.client.call("generate_audio", { ...call, replace });
    expect(name(taskOf(outcome).audio?.path)).toBe("book-2.pcm");
    expect(resultTextOf(outcome)).toContain(`The name book.pcm is taken by a file of ${narration_id}`);
  }
});
