/**
 * The URLs that a reference or an image may have. Every spelling of a private address is refused, and every public URL
 * is accepted.
 */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { findPublicUrlIssue } from "../../src/contract/public-url.ts";

const REFUSED = [
  "http://example.com/",
  " https://example.com/",
  "https://example.com/ a",
  "https://exa\tmple.com/",
  "https://example.com\\@127.0.0.1/",
  "https://user:pw@example.com/",
  "https://localhost/",
  "https://local\u00adhost/",
  "https://ⓛocalhost/",
  "https://127.1/",
  "https://2130706433/",
  "https://127。0。0。1/",
  "https://%31%32%37.0.0.1/",
  "https://0/",
  "https://[::]/",
  "https://[::1]/",
  "https://[::ffff:7f00:1]/",
  "https://[fe80::1]/",
  "https://[fc00::1]/",
  "https://[fd12:3456::1]/",
  "https://[ff02::1]/",
  "https://[2001:db8::1]/",
  "https://169.254.169.254/latest/meta-data/",
  "https://printer.local/",
  "https://router.lan/",
  "https://metadata.google.internal/",
  "https://intranet/",
  "https://nas.home.arpa/",
  "https://256.1.1.1/",
  "https://",
  "javascript:alert(1)",
  "data:audio/mp3;base64,AAAA",
  `https://example.com/${"a".repeat(2029)}`,
];

const TAKEN = [
  "https://example.com",
  "https://bücher.example.com/ü",
  "https://8.8.8.8/",
  "https://172.15.0.1/",
  "https://172.32.0.1/",
  "https://100.63.0.1/",
  "https://[2606:4700:4700::1111]/",
  "https://localhost.example.com/",
  "https://local.example.org/",
  "https://example.com/@user:pw",
  "https://example.com/https://127.0.0.1/",
  `https://example.com/${"🎧".repeat(2028)}`,
];

const octet = fc.integer({ min: 0, max: 255 });

/** Private addresses as four numbers. Their ranges are written here again, not taken from the code under test. */
const innerAddress = fc.oneof(
  fc.tuple(fc.constantFrom(0, 10, 127), octet, octet, octet),
  fc.tuple(fc.constant(172), fc.integer({ min: 16, max: 31 }), octet, octet),
  fc.tuple(fc.constant(192), fc.constant(168), octet, octet),
  fc.tuple(fc.constant(169), fc.constant(254), octet, octet),
  fc.tuple(fc.constant(100), fc.integer({ min: 64, max: 127 }), octet, octet),
  fc.tuple(fc.integer({ min: 224, max: 255 }), octet, octet, octet),
);
type Address = [number, number, number, number];

const asNumber = ([a, b, c, d]: Address): number => ((a * 256 + b) * 256 + c) * 256 + d;
const wide = (text: string): string =>
  text.replace(/\d/g, (digit) => String.fromCodePoint(0xff10 + Number(digit)));
const hex = (address: Address): string => asNumber(address).toString(16).padStart(8, "0");

/** All spellings of an address that browsers and libraries accept. */
const SPELLINGS: ReadonlyArray<(address: Address) => string> = [
  (address) => address.join("."),
  (address) => String(asNumber(address)),
  (address) => `0x${asNumber(address).toString(16)}`,
  (address) => `0${asNumber(address).toString(8)}`,
  ([a, b, c, d]) => `${a}.${b}.${c * 256 + d}`,
  ([a, b, c, d]) => `${a}.${(b * 256 + c) * 256 + d}`,
  (address) => address.map((part) => `0x${part.toString(16)}`).join("."),
  (address) => address.map((part) => `0${part.toString(8)}`).join("."),
  (address) => wide(address.join(".")),
  (address) => address.join("\u3002"),
  (address) => `${address.join(".")}.`,
  (address) => `[::ffff:${address.join(".")}]`,
  (address) => `[::${hex(address).slice(0, 4)}:${hex(address).slice(4)}]`,
  (address) => `[64:ff9b::${hex(address).slice(0, 4)}:${hex(address).slice(4)}]`,
  (address) => `[2002:${hex(address).slice(0, 4)}:${hex(address).slice(4)}::]`,
];

describe("a URL that the service would be asked to fetch", () => {
  it.each(REFUSED)("%j is refused, with a clause that follows the field's name", (url) => {
    expect(findPublicUrlIssue(url)).toMatch(/^must /);
  });

  it.each(TAKEN)("%j is accepted", (url) => {
    expect(findPublicUrlIssue(url)).toBeNull();
  });

  it("is refused for every inner address, however it is written", () => {
    fc.assert(
      fc.property(innerAddress, fc.constantFrom(...SPELLINGS), fc.webPath(), (address, spell, path) => {
        expect(findPublicUrlIssue(`https://${spell(address)}${path}`)).toMatch(/^must /);
      }),
      { numRuns: 3000 },
    );
  });

  it("is accepted for every public host and any path", () => {
    const path = fc.webPath().filter((text) => text.length < 500);
    fc.assert(
      fc.property(fc.domain(), path, fc.webQueryParameters(), (domain, at, query) => {
        const url = `https://${domain}${at}?${query}`;
        if (
          [...url].length <= 2048 &&
          !/\.(test|local|localhost|internal|lan|home|corp|private|invalid|onion|intranet|localdomain|arpa)$/i.test(
            domain,
          )
        ) {
          expect(findPublicUrlIssue(url)).toBeNull();
        }
      }),
    );
  });

  it("never makes the check throw", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: "binary" }),
          fc.string().map((text) => `https://${text}`),
        ),
        (text) => {
          expect(findPublicUrlIssue(text) ?? "must ").toMatch(/^must /);
        },
      ),
      { numRuns: 2000 },
    );
  });
});
