/** Parsing of the headers Content-Length and Content-Range. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { parseContentLength, parseContentRange, parseUnsatisfiedRange } from "../../src/api/content.ts";

it("reads every range that is consistent", () => {
  const size = fc.nat({ max: 2 ** 40 });
  fc.assert(
    fc.property(size, size, size, fc.boolean(), (firstByte, length, rest, isKnown) => {
      const lastByte = firstByte + length;
      const totalBytes = isKnown ? lastByte + 1 + rest : null;
      expect(parseContentRange(`bytes ${firstByte}-${lastByte}/${totalBytes ?? "*"}`)).toEqual({
        firstByte,
        lastByte,
        totalBytes,
      });
    }),
  );
});

it.each([
  undefined,
  "",
  "bytes",
  "bytes */10",
  "bytes 0-10/10",
  "bytes 5-4/10",
  "bytes 0-4/10, 5-9/10",
  "bytes=0-4/10",
  "bytes -1-4/10",
  "bytes 0-4/1e9",
  "bytes 0-9999999999999999999/*",
])("ignores the invalid Content-Range %j", (header) => {
  expect(parseContentRange(header)).toBeNull();
});

it.each([
  ["0", 0],
  [" 12 ", 12],
  ["-1", null],
  ["1.0", null],
  ["0x10", null],
  ["1, 1", null],
  ["99999999999999999999", null],
  [undefined, null],
])("reads the Content-Length %j as %j", (header, sizeBytes) => {
  expect(parseContentLength(header)).toBe(sizeBytes);
});

it.each([
  ["bytes */10", 10],
  ["bytes */*", null],
  ["bytes 0-1/10", null],
  [undefined, null],
])("reads the size in a 416's %j as %j", (header, totalBytes) => {
  expect(parseUnsatisfiedRange(header)).toBe(totalBytes);
});
