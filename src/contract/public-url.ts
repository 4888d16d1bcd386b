/** Validates addresses of references and images: public https, no credentials, nothing internal (docs/contract.md, Addresses). */
import { BlockList, isIP } from "node:net";
import { URL_MAX_CODE_POINTS } from "./service-limits.ts";
import { codePointLength } from "./unicode.ts";

/** Address blocks that lead to a local, private or special network, from the registries of RFC 6890. */
const INTERNAL_V4: ReadonlyArray<readonly [string, number]> = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
];

/** Names that resolvers keep on the local network or the machine itself (RFC 6761, 6762, 8375 and common practice). */
const INTERNAL_SUFFIXES = ["localhost", "local", "localdomain", "internal", "intranet", "lan", "home.arpa"];

let internalV4: BlockList | undefined;

function internalV4Blocks(): BlockList {
  if (internalV4 === undefined) {
    internalV4 = new BlockList();
    for (const [network, prefix] of INTERNAL_V4) internalV4.addSubnet(network, prefix, "ipv4");
  }
  return internalV4;
}

/** The public IPv6 internet is 2000::/3, less documentation (2001:db8::/32, 3fff::/20), Teredo and 6to4, which embed an IPv4 address. */
function isPublicV6(address: string): boolean {
  const publicBlocks = new BlockList();
  publicBlocks.addSubnet("2000::", 3, "ipv6");
  const embedding = new BlockList();
  embedding.addSubnet("2001::", 23, "ipv6");
  embedding.addSubnet("2001:db8::", 32, "ipv6");
  embedding.addSubnet("2002::", 16, "ipv6");
  embedding.addSubnet("3fff::", 20, "ipv6");
  return publicBlocks.check(address, "ipv6") && !embedding.check(address, "ipv6");
}

/** Expects `hostname` as `URL` normalises it, which maps 127.1, 0x7f000001, 2130706433 and full-width digits to one spelling. */
function isInternalHost(hostname: string): boolean {
  if (hostname.startsWith("[")) return !isPublicV6(hostname.slice(1, -1));
  if (isIP(hostname) === 4) return internalV4Blocks().check(hostname, "ipv4");
  const name = hostname.replace(/\.$/, "").toLowerCase();
  if (!name.includes(".")) return true;
  return INTERNAL_SUFFIXES.some((suffix) => name.endsWith(`.${suffix}`));
}

/**
 * Finds the fault of a URL that the service would fetch; `null` if there is none.
 *
 * @returns one clause fit to follow the field's name, such as "must start with https://"
 */
export function publicUrlFault(text: string): string | null {
  if (codePointLength(text) > URL_MAX_CODE_POINTS) {
    return `must be at most ${URL_MAX_CODE_POINTS} characters (this one has ${codePointLength(text)})`;
  }
  if (!text.startsWith("https://")) return "must start with https://";
  if (/[\s\\\u0000-\u001f\u007f-\u009f]/u.test(text) || !text.isWellFormed()) {
    return "must not contain white space, control characters or backslashes";
  }
  if (!URL.canParse(text)) return "must be a valid URL";
  const url = new URL(text);
  // `https://@host/` has empty credentials, which `URL` does not show.
  const authority = text.slice("https://".length).split(/[/?#]/)[0] ?? "";
  if (authority.includes("@")) return "must not contain credentials";
  if (isInternalHost(url.hostname)) {
    return "must be on the public internet (not a local, private or reserved host)";
  }
  return null;
}
