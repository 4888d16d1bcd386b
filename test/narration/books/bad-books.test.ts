/** Books that are damaged, hostile or protected: each is refused in one sentence before anything is planned. */
import { unzipSync, zipSync } from "fflate";
import { describe, expect, it } from "vitest";
import { AudioError } from "../../../src/errors.ts";
import { parseEpub } from "../../../src/narration/books/parse-epub.ts";
import { UnspokenList } from "../../../src/narration/text/blocks.ts";
import { packageOf, packBook, pageOf } from "./packed-book.ts";

const ONE = { id: "one", body: "<h1>One</h1><p>It is late.</p>" };
const GOOD = packBook({ pages: [ONE] });

const ENCRYPTION = (algorithm: string): string =>
  `<encryption><EncryptedData><EncryptionMethod Algorithm="${algorithm}"/><CipherData><CipherReference URI="OPS/one.xhtml"/></CipherData></EncryptedData></encryption>`;
const withFiles = (files: Record<string, string>): Uint8Array => packBook({ pages: [ONE], files });

function refusalOf(bytes: Uint8Array): string {
  try {
    parseEpub(bytes, new UnspokenList());
  } catch (error) {
    if (error instanceof AudioError) return `${error.code}: ${error.message}`;
    throw error;
  }
  return "none";
}

/** Replaces each occurrence of `before` by `after`. Both must have the same length. */
function respelled(bytes: Uint8Array, before: string, after: string): Uint8Array {
  const text = Buffer.from(bytes).toString("latin1").replaceAll(before, after);
  return Buffer.from(text, "latin1");
}

const CENTRAL = Buffer.from([0x50, 0x4b, 0x01, 0x02]);
const LOCAL = Buffer.from([0x50, 0x4b, 0x03, 0x04]);

/** Changes both headers of every packed file: the one in the archive's directory, and the one before the file. */
function withHeaders(
  bytes: Uint8Array,
  change: (archive: Buffer, central: number, local: number) => void,
): Buffer {
  const archive = Buffer.from(bytes);
  let central = archive.indexOf(CENTRAL);
  let local = archive.indexOf(LOCAL);
  while (central !== -1) {
    change(archive, central, local);
    central = archive.indexOf(CENTRAL, central + 4);
    local = archive.indexOf(LOCAL, local + 4);
  }
  return archive;
}

const ENTITIES = '<!DOCTYPE html [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>';

describe("a book", () => {
  it("is read if it is valid", () => {
    expect(refusalOf(GOOD)).toBe("none");
  });

  it.each<readonly [what: string, bytes: Uint8Array, rule: RegExp]>([
    ["no archive", Buffer.from("It is late."), /not an EPUB|damaged/],
    ["half of an archive", GOOD.subarray(0, GOOD.length / 2), /not an EPUB|damaged/],
    ["the end of an archive alone", GOOD.subarray(GOOD.length - 22), /damaged/],
    [
      "a damaged page",
      (() => {
        const archive = Buffer.from(packBook({ pages: [{ id: "one", body: `<p>${"Late. ".repeat(99)}` }] }));
        const at = archive.indexOf("OPS/one.xhtml") + "OPS/one.xhtml".length;
        archive.fill(0x55, at + 20, at + 40);
        return archive;
      })(),
      /damaged/,
    ],
    [
      "a page whose bytes were changed",
      withHeaders(GOOD, (archive, central) => archive.writeUInt32LE(12_345, central + 16)),
      /damaged/,
    ],
    [
      "a password",
      withHeaders(GOOD, (archive, central, local) => {
        archive.writeUInt16LE(archive.readUInt16LE(central + 8) | 1, central + 8);
        archive.writeUInt16LE(archive.readUInt16LE(local + 6) | 1, local + 6);
      }),
      /encrypted/,
    ],
    ["a file outside, with backslashes", withFiles({ "..\\..\\outside.txt": "x" }), /leads out of it/],
    ["a file outside", withFiles({ "../../outside.txt": "x" }), /leads out of it/],
    ["a file of the whole disk", withFiles({ "/etc/outside.txt": "x" }), /leads out of it/],
    ["a file of a drive", withFiles({ "C:/outside.txt": "x" }), /leads out of it/],
    [
      "two files of one name",
      respelled(withFiles({ "OPS/abc.xhtml": pageOf("<p>Another.</p>") }), "OPS/abc.xhtml", "OPS/one.xhtml"),
      /two files named/,
    ],
    [
      "3,001 files",
      withFiles(Object.fromEntries(Array.from({ length: 3001 }, (_, n) => [`n${n}`, ""]))),
      /3,?000/,
    ],
    [
      "a page of 201 MiB",
      packBook({ pages: [ONE], files: { "OPS/one.xhtml": new Uint8Array(201 * 1024 * 1024) } }),
      /200 MiB/,
    ],
    [
      "a page that says it is small, and is not",
      withHeaders(
        packBook({ pages: [{ id: "one", body: `<p>${"It is late. ".repeat(100_000)}</p>` }] }),
        (archive, central) => {
          if (archive.readUInt32LE(central + 24) > 100_000) archive.writeUInt32LE(1000, central + 24);
        },
      ),
      /damaged/,
    ],
    [
      "a copy protection",
      withFiles({ "META-INF/encryption.xml": ENCRYPTION("http://www.w3.org/2001/04/xmlenc#aes128-cbc") }),
      /protected/,
    ],
    ["the rights of a shop", withFiles({ "META-INF/rights.xml": "<rights/>" }), /protected/],
    [
      "entities in a page",
      withFiles({ "OPS/one.xhtml": `${ENTITIES}<html><body><p>&b;</p></body></html>` }),
      /entities/,
    ],
    ["its entities", withFiles({ "OPS/book.opf": `${ENTITIES}${packageOf({ pages: [ONE] })}` }), /entities/],
    [
      "a file of the disk as an entity",
      withFiles({
        "OPS/one.xhtml":
          '<!DOCTYPE html [<!ENTITY x SYSTEM "file:///etc/passwd">]><html><body><p>&x;</p></body></html>',
      }),
      /entities/,
    ],
    ["no container", withFiles({ "META-INF/container.xml": "<container/>" }), /container\.xml/],
    [
      "a page that is not there",
      withFiles({ "OPS/book.opf": packageOf({ pages: [ONE, { id: "two", body: "" }] }) }),
      /"OPS\/two\.xhtml", which is not in it/,
    ],
    [
      "a page without a file",
      withFiles({
        "OPS/book.opf": packageOf({ pages: [ONE] }).replace("</spine>", '<itemref idref="x"/></spine>'),
      }),
      /"x"/,
    ],
    [
      "a page outside",
      withFiles({ "OPS/book.opf": packageOf({ pages: [ONE] }).replace('"one.xhtml"', '"../../one.xhtml"') }),
      /outside of it/,
    ],
    [
      "a page on the web",
      withFiles({
        "OPS/book.opf": packageOf({ pages: [ONE] }).replace('"one.xhtml"', '"https://example.com/one.xhtml"'),
      }),
      /outside of it/,
    ],
    [
      "a page in Latin-1",
      packBook({
        pages: [ONE],
        files: {
          "OPS/one.xhtml": Buffer.from("<html><body><p>Un été à Orléans.</p></body></html>", "latin1"),
        },
      }),
      /UTF-8/,
    ],
  ])("is refused with %s", (_, bytes, rule) => {
    const refusal = refusalOf(bytes);
    expect(refusal).toMatch(rule);
    expect(refusal).toMatch(/^invalid_request: .*Nothing was sent\.$/);
  });

  it.each(["http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC"])(
    "is read if only its fonts are encrypted: %s",
    (algorithm) => {
      expect(refusalOf(withFiles({ "META-INF/encryption.xml": ENCRYPTION(algorithm) }))).toBe("none");
    },
  );

  it("is read if it states the type of a page wrongly", () => {
    const pages = ["One", "Two"].map((name) => ({ id: name, body: `<p>${name} is late.</p>` }));
    const bytes = packBook({
      pages,
      files: {
        "OPS/book.opf": packageOf({ pages }).replace("application/xhtml+xml", "text/x-oeb1-document"),
      },
    });
    const { blocks } = parseEpub(bytes, new UnspokenList());
    expect(blocks.flatMap((block) => ("text" in block ? [block.text] : []))).toEqual([
      "One is late.",
      "Two is late.",
    ]);
  });

  it.each([
    ["by a fragment", '<guide><reference type="toc" href="one.xhtml#toc"/></guide>'],
    ["as a whole", '<guide><reference type="toc" href="one.xhtml"/></guide>'],
  ])("keeps chapters on a page that it declares as its contents %s", (_, more) => {
    const prose =
      "<p>It is late, and the river runs past the old mill and on to the sea, as it always has.</p>";
    const body = `<p id="toc">Contents</p><h1>One</h1>${prose.repeat(20)}`;
    const { blocks } = parseEpub(packBook({ pages: [{ id: "one", body }], more }), new UnspokenList());
    expect(blocks.some((block) => block.kind === "heading" && block.text === "One")).toBe(true);
  });

  it("is read if its archive lists folders, also the one of the whole archive", () => {
    const bytes = withFiles({ "/": "", "OPS/pictures/": "" });
    expect(parseEpub(bytes, new UnspokenList()).blocks).not.toEqual([]);
  });

  it.each(["OPS/./one.xhtml", "./OPS//one.xhtml", "OPS\\one.xhtml"])(
    "is read if its archive writes the name %s",
    (name) => {
      const files = { [name]: pageOf("<p>Late.</p>") };
      const { "OPS/one.xhtml": _, ...others } = unzipSync(packBook({ pages: [ONE], files }));
      expect(parseEpub(zipSync(others), new UnspokenList()).blocks).toMatchObject([{ text: "Late." }]);
    },
  );

  it("is read if an entry of its order names nothing, and takes no filler for its title and author", () => {
    const metadata = "<dc:title>Unknown Title</dc:title><dc:creator>Unknown</dc:creator>";
    const order = packageOf({ pages: [ONE], metadata }).replace("<spine>", '<spine><itemref idre="gone"/>');
    const book = parseEpub(withFiles({ "OPS/book.opf": order }), new UnspokenList());
    expect(book).toMatchObject({ title: null, author: null });
    expect(book.blocks).not.toEqual([]);
  });

  it("is read if it declares a document type of EPUB 2", () => {
    const type =
      '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.1//EN" "http://www.w3.org/TR/xhtml11/DTD/xhtml11.dtd">';
    const files = { "OPS/one.xhtml": `${type}<html><body><p>Late&nbsp;again.</p></body></html>` };
    expect(refusalOf(packBook({ pages: [ONE], files }))).toBe("none");
  });
});
