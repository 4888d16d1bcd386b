/** What `npm run release-check` says of a bundle: fine when it is of the files as they stand, and which part is stale when not. */
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { crc32, deflateRawSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { bundleFaults } from "../../scripts/bundle-contents.ts";

const manifest = { name: "some-server", version: "1.2.3" };
const BUNDLE = "bundle/some-server-1.2.3.mcpb";
const PARTS = ["manifest.json", "LICENSE", "assets/icon.png", "dist/main.js", "dist/chunks/a.js"];

let root = "";

function write(path: string, text: string | Buffer): void {
  mkdirSync(dirname(join(root, path)), { recursive: true });
  writeFileSync(join(root, path), text);
}

/** A zip as packers write it; every second file is stored, the others are deflated. */
function zip(files: ReadonlyArray<readonly [string, Buffer]>): Buffer {
  const bodies: Buffer[] = [];
  const entries: Buffer[] = [];
  let offset = 0;
  for (const [index, [name, bytes]] of files.entries()) {
    const method = index % 2 === 0 ? 8 : 0;
    const data = method === 8 ? deflateRawSync(bytes) : bytes;
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt16LE(method, 4);
    common.writeUInt32LE(crc32(bytes), 10);
    common.writeUInt32LE(data.length, 14);
    common.writeUInt32LE(bytes.length, 18);
    common.writeUInt16LE(Buffer.byteLength(name), 22);
    const tail = Buffer.alloc(14);
    tail.writeUInt32LE(offset, 10);
    const body = Buffer.concat([Buffer.from("PK\x03\x04"), common, Buffer.from(name), data]);
    entries.push(Buffer.concat([Buffer.from("PK\x01\x02\x14\x00"), common, tail, Buffer.from(name)]));
    bodies.push(body);
    offset += body.length;
  }
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06");
  end.writeUInt16LE(files.length, 8);
  end.writeUInt16LE(files.length, 10);
  end.writeUInt32LE(Buffer.concat(entries).length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...bodies, ...entries, end]);
}

const server = (owner: string, sum?: string): string =>
  JSON.stringify({
    name: `io.github.${owner}/some-server`,
    packages: [
      { registryType: "npm", identifier: "some-server" },
      { registryType: "mcpb", ...(sum === undefined ? {} : { fileSha256: sum }) },
    ],
  });

function bundle(): void {
  const archive = zip(PARTS.map((path) => [path, readFileSync(join(root, path))]));
  const sum = createHash("sha256").update(archive).digest("hex");
  write(BUNDLE, archive);
  write(`${BUNDLE}.sha256`, `${sum}  some-server-1.2.3.mcpb\n`);
  write("bundle/server.json", server("placeholder-owner", sum));
}

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "agm-release-"));
  for (const path of PARTS) write(path, `the ${path} of placeholder-owner, again and again and again`);
  write("dist/main.d.ts", "export {};");
  write("server.json", server("placeholder-owner"));
  bundle();
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

describe("a bundle", () => {
  it("of the files as they stand may go out, types left out", () => {
    expect(bundleFaults(root, manifest)).toEqual([]);
  });

  it("made before the publisher was decided may not", () => {
    write("manifest.json", "{}");
    write("server.json", server("someone"));
    expect(bundleFaults(root, manifest)).toEqual([
      "The bundle holds another manifest.json than the one there is now: npm run bundle.",
      "bundle/server.json is not server.json with the bundle's sum: npm run bundle.",
    ]);
  });

  it.each([
    ["changed", () => write("dist/main.js", "other code")],
    ["added to", () => write("dist/chunks/b.js", "more code")],
    ["thinned", () => rmSync(join(root, "dist/chunks/a.js"))],
    ["removed", () => rmSync(join(root, "dist"), { recursive: true })],
  ])("made before dist/ was %s may not", (_what, change) => {
    change();
    expect(bundleFaults(root, manifest)).toEqual([
      "The bundle holds another dist than the one there is now: npm run bundle.",
    ]);
  });

  it.each([
    ["whose sum is missing", () => rmSync(join(root, `${BUNDLE}.sha256`)), /its sum is of/],
    ["whose sum is another", () => write(`${BUNDLE}.sha256`, `${"0".repeat(64)}  x\n`), /its sum is of/],
    ["without the registry's entry", () => rmSync(join(root, "bundle/server.json")), /no bundle of this/],
    ["with half a registry entry", () => write("bundle/server.json", "{"), /bundle\/server\.json is not/],
    ["that is cut short", () => write(BUNDLE, readFileSync(join(root, BUNDLE)).subarray(0, 99)), /be read/],
    ["that is missing", () => rmSync(join(root, BUNDLE)), /no bundle of this version/],
  ])("%s may not", (_what, change, words) => {
    change();
    const faults = bundleFaults(root, manifest);
    expect(faults).toHaveLength(1);
    expect(faults[0]).toMatch(words);
  });
});
