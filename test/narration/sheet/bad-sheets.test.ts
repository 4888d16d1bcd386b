/** Mistakes in a sheet are refused in the plan, by row number, before anything is sent. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { errorOf, resultTextOf, type ToolOutcome } from "../../support/tool-result.ts";
import { openNarratorAll } from "../narrator.ts";

const narrator = openNarratorAll();
let folder: string;
beforeAll(async () => {
  folder = await narrator.openTexts();
});

async function planOf(
  content: string | Uint8Array,
  more: Record<string, unknown> = {},
): Promise<ToolOutcome> {
  writeFileSync(join(folder, "lines.csv"), content);
  return await narrator.client.call("narrate", { file: "lines.csv", ...more });
}

const rows = (count: number): string => `text\n${"Good night, all of you.\n".repeat(count)}`;

describe("is refused free of charge, with the correction", () => {
  it.each<[string, string | Uint8Array, RegExp]>([
    [
      "no column text",
      "words,voice\nHello there,sophie_en_zh\n",
      /no column "text" in its first row, which holds "words", "voice"/,
    ],
    ["a column line that numbers the lines", "line,count\n1,2\n2,3\n", /no column "text"/],
    [
      "several unknown voices",
      "id,speaker,line\n1,Guard,Halt\n2,Cook,Go\n3,Guard,Stay\n",
      /Rows 2 to 4: voice "Guard", "Cook" must be ids .*What to do: Call again with a voice for each of these names, as voices: \["Guard: magnus_en_zh"\] \(ask/s,
    ],
    [
      "a text without a header",
      "Hello there\nGood night\n",
      /no column "text" in its first row, which holds "hello there"/,
    ],
    ["two columns text", "text,Text\nHello,There\n", /two columns "text"/],
    ["no rows", "text,file\n", /no rows below its header/],
    ["rows without a text", "text,file\n,guard\n...,cook\n", /no row with a text/],
    ["1,001 rows", rows(1001), /has 1,001 rows; at most 1,000 are taken/],
    ["10,000 rows", rows(10_000), /has 10,000 rows; at most 1,000 are taken/],
    [
      "a quotation mark that never closes",
      'text,file\nHello,a\n"Good night,b\n',
      /opens a quotation mark that never closes, in row 3/,
    ],
    [
      "a row that is too long for one task",
      `text\nHello\n${"word ".repeat(500)}\n`,
      /Row 3: the text has 2,499 characters, and one task takes at most 2,048/,
    ],
    [
      "a voice that is none",
      "text,voice\nHello,sofie\n",
      /Row 2: voice "sofie" must be the id or the name of a voice; nearest: sophie_en_zh/,
    ],
    [
      "a speed out of range",
      "text,speed\nHello,1\nGood night,3\nGo,fast\n",
      /Row 3: speed "3" must be a number from 0\.5 to 2; Row 4: speed "fast" must be a number/,
    ],
    ["half a tone", "text,pitch\nHello,0.5\n", /Row 2: pitch "0\.5" must be a whole number from -12 to 12/],
    [
      "rows with the same file",
      "text,file\nHello,guard\nGo,cook\nStop,GUARD.mp3\n",
      /Rows 2 and 4: the same file "guard\.mp3"/,
    ],
    [
      "a folder in a file",
      "text,file\nHello,guards/one\n",
      /Row 2: file "guards\/one" cannot be used: it must be a plain name/,
    ],
    ["a device of Windows", "text,file\nHello,con\n", /Row 2: file "con" cannot be used/],
    ["too many cells", "text,file\nHello, you,guard\n", /Row 2: more cells than the header has columns/],
    [
      "a comma that moves the cells behind it",
      "text,voice,notes\nHello, you,sophie_en_zh,\n",
      /narrated yet\. Row 2: more cells than the header has columns; [^.;]*\. Nothing was sent/,
    ],
    ["Latin-1", Buffer.from("text\ncaf\u00e9 au lait\n", "latin1"), /seems to be in Latin-1/],
    ["a lost character", "text\nHello \ufffd there\n", /U\+FFFD/],
    ["nothing", "", /is empty/],
  ])("%s", async (_what, content, words) => {
    const outcome = await planOf(content, { max_credits: 5000 });
    expect(errorOf(outcome)).toMatchObject({ code: "invalid_request" });
    expect(resultTextOf(outcome)).toMatch(words);
    expect(resultTextOf(outcome).length).toBeLessThan(2000);
    expect(narrator.service.exchanges).toEqual([]);
  });

  it("a row that the pronunciations make too long", async () => {
    const text = `text\nHello\n${"Ng ".repeat(600)}\n`;
    const outcome = await planOf(text, { pronounce: ["Ng=Nguyenuyen"] });
    expect(resultTextOf(outcome)).toMatch(/Row 3: With the pronunciations of Ng the text becomes/);
  });

  it("several faults at once, up to ten of which are named", async () => {
    const lines = Array.from({ length: 14 }, (_, index) => `Hello ${index},${index + 3}`);
    const outcome = await planOf(`text,speed\nFine,1\n${lines.join("\n")}\n`);
    expect(resultTextOf(outcome)).toMatch(
      /Row 3: speed "3".*Row 12: speed "12".*; and 4 more\. Nothing was sent/s,
    );
    expect(resultTextOf(outcome)).not.toContain("Row 13");
  });
});

const INPUT =
  'text;Stimme; Voice ;speed\r\n"Halt,\r\nwho goes there?";x;sophie_en_zh;0,9\r\n\r\n"He said ""no""";;;\r\n;y;sophie_en_zh;\r\n';

describe("is read as intended", () => {
  it("with semicolons, line breaks in quotation marks, other case of a column, a decimal comma", async () => {
    const outcome = await planOf(INPUT);
    const text = resultTextOf(outcome);
    expect(text).toContain("A plan of 2 parts");
    expect(text).toContain("2 files, one for each row, without captions, named by number and first words.");
    expect(text).toContain("Columns are separated by semicolons.");
    expect(text).toContain('Columns that are not used: "Stimme".');
    expect(text).toContain("Row 5: left out, because there is nothing to speak.");
    expect(text).toContain('It begins "Halt, who goes there?" and ends "He said \\"no\\""');
  });

  it.each([
    ["tabs, and quotation marks that are text", 'text\tfile\n"Halt!" she said\tguard\n', /separated by tabs/],
    ["one column with commas", "text\nHalt, who goes there?\nNobody, sir.\n", /A plan of 2 parts/],
    ["a byte order mark", "\ufefftext,file\nHalt,guard\n", /A plan of 1 part:/],
    ["UTF-16", Buffer.from("\ufefftext,file\nHalt,guard\n", "utf16le"), /A plan of 1 part:/],
    ["thousands of empty rows", `text,file\nHalt,guard\n${",\n".repeat(20_000)}`, /A plan of 1 part:/],
    ["the separator in its own line", "sep=;\r\ntext;file\r\nHalt, you;guard\r\n", /separated by semicolons/],
    ["bars", "text|file\nHalt, you; there|guard\n", /separated by bars/],
    [
      "headings of other names",
      "ID,Character,Dialogue\none,Sophie,Halt\n",
      /by the column "ID"\. All are spoken by sophie_en_zh.*"Dialogue" as text, "Character" as voice\./s,
    ],
    ["a name twice, so no file", "name,line,message\nAnn,1,Halt\nAnn,2,Go\n", /not used: "name", "line"/],
    [
      "tags and placeholders",
      "text\nHi <i>you</i> {name}\n50% off for $5\n%s is here\n",
      /Rows 2 and 4: tags or placeholders such as "<i>", "<\/i>", "\{name\}", "%s" are sent/,
    ],
    [
      "tags in square brackets",
      "text\n[shake]Help[/shake]\nSee [1]\n",
      /Row 2: tags or placeholders such as "\[\/shake\]" are sent/,
    ],
    ["a voice by its name", "text,voice\nHalt,Sophie\n", /All are spoken by sophie_en_zh/],
    [
      "the ending of another format",
      "text,file\nHalt,guard.wav\n",
      /Row 2: the name in file ends as another format does, so the file is "guard\.wav\.pcm"/,
    ],
    ["a long row", `text,speed\n${"word ".repeat(400)},0.5\n`, /Row 2: likely to be longer than 120 s/],
  ])("%s", async (_what, content, words) => {
    const outcome = await planOf(content, { output_format: "pcm" });
    expect(resultTextOf(outcome)).toMatch(words);
    expect(outcome.isError).not.toBe(true);
  });

  it("a speaker of `voices` in the column voice, and one that no row names", async () => {
    const sheet = "text,voice\nHalt,Guard\nGo,guard\n";
    const outcome = await planOf(sheet, { voices: ["GUARD: opal_en_zh speed 0.8", "COOK: felix_zh"] });
    expect(resultTextOf(outcome)).toContain("All are spoken by opal_en_zh.");
    expect(resultTextOf(outcome)).toContain('No row has "COOK" in its column voice');
  });

  it("a thousand rows, in a separate thread if they are long", async () => {
    const sheet = `text\n${"It was a bright cold day in April, and the clocks were striking thirteen times.\n".repeat(1000)}`;
    const outcome = await planOf(sheet.slice(0, 98_000).replace(/\n[^\n]*$/, "\n"));
    expect(outcome.isError).not.toBe(true);
    expect(resultTextOf(await planOf(sheet))).toContain("A plan of 1000 parts");
    expect(JSON.stringify(outcome).length).toBeLessThan(5000);
  });
});
