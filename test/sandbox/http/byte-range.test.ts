/** Which bytes a Range header requests, and which headers are ignored or refused. */
import { describe, expect, it } from "vitest";
import { parseByteRange } from "../../../src/sandbox/http/byte-range.ts";

describe("byte ranges of 1000 bytes", () => {
  it.each([
    ["bytes=0-0", 0, 0],
    ["bytes=0-999", 0, 999],
    ["bytes=999-", 999, 999],
    ["bytes=0-", 0, 999],
    ["bytes=990-5000", 990, 999],
    ["bytes=5-99999999999999999999", 5, 999],
    ["bytes=-1", 999, 999],
    ["bytes=-1000", 0, 999],
    ["bytes=-99999999999999999999", 0, 999],
    ["Bytes= 0-9 ", 0, 9],
  ])("serves %s", (header, start, end) => {
    expect(parseByteRange(header, 1000)).toEqual({ start, end });
  });

  it.each([
    "bytes=1000-",
    "bytes=1000-1001",
    "bytes=99999999999999999999-",
    "bytes=9-5",
    "bytes=-0",
    "bytes=-",
    "bytes=",
    "bytes=a-b",
    "bytes=1-2-3",
    "bytes=0x1-0x2",
    "bytes=0-1,4-5",
    "bytes=0-1,",
    "bytes=+1-2",
    "bytes 0-5",
    "0-5",
    "",
  ])("finds %j unsatisfiable", (header) => {
    expect(parseByteRange(header, 1000)).toBe("unsatisfiable");
  });

  it.each([undefined, "items=0-5", "seconds=1-2,3-4"])("ignores %s", (header) => {
    expect(parseByteRange(header, 1000)).toBe("whole");
  });
});
