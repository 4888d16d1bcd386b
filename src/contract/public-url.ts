/** Validates URLs of references and images: https, public host, no credentials (docs/contract.md, Addresses). */
import { BlockList, isIP } from "node:net";
import { MAX_URL_CODE_POINTS } from "./service-limits.ts";
import { countCodePoints } from "./unicode.ts";

function buildBlockList(family: "ipv4" | "ipv6", networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = "", prefix] = network.split("/");
    list.addSubnet(address, Number(prefix), family);
  }
  return list;
}

/** IPv4 blocks of local, private and special networks, from the registries of RFC 6890. */
const INTERNAL_V4 = buildBlockList("ipv4", [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "224.0.0.0/4",
  "240.0.0.0/4",
]);

const PUBLIC_V6 = buildBlockList("ipv6", ["2000::/3"]);
/**
 * Blocks of {@link PUBLIC_V6} that do not count as public: for documentation (2001:db8::/32, 3fff::/20), for special
 * purposes such as Teredo (2001::/23), and for 6to4 (2002::/16). Teredo and 6to4 are excluded because their addresses
 * embed an IPv4 address, which may be internal.
 */
const SPECIAL_V6 = buildBlockList("ipv6", ["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"]);

/** Domains that resolve to the local network or this machine (RFC 6761, 6762, 8375 and common practice). */
const INTERNAL_SUFFIXES = ["localhost", "local", "localdomain", "internal", "intranet", "lan", "home.arpa"];

/**
 * Returns whether a host is internal. Expects the host as `URL` normalises it: 127.1, 0x7f000001 and 2130706433
 * become 127.0.0.1, and full-width digits become ASCII.
 */
function isInternalHost(hostname: string): boolean {
  if (hostname.startsWith("[")) {
    const address = hostname.slice(1, -1);
    return !PUBLIC_V6.check(address, "ipv6") || SPECIAL_V6.check(address, "ipv6");
  }
  if (isIP(hostname) === 4) return INTERNAL_V4.check(hostname, "ipv4");
  const name = hostname.replace(/\.$/, "").toLowerCase();
  if (!name.includes(".")) return true;
  return INTERNAL_SUFFIXES.some((suffix) => name.endsWith(`.${suffix}`));
}

/**
 * Finds what is wrong with a URL that the service would fetch.
 *
 * @returns a clause that follows the name of the field, such as "must start with https://"; null if the URL is valid
 */
export function findPublicUrlIssue(text: string): string | null {
  if (countCodePoints(text) > MAX_URL_CODE_POINTS) {
    return `must be at most ${MAX_URL_CODE_POINTS} characters (this one has ${countCodePoints(text)})`;
  }
  if (!text.startsWith("https://")) return "must start with https://";
  if (/[\s\\\u0000-\u001f\u007f-\u009f]/u.test(text) || !text.isWellFormed()) {
    return "must not contain white space, control characters or backslashes";
  }
  if (!URL.canParse(text)) return "must be a valid URL";
  const url = new URL(text);
  // `https://@host/` has empty credentials, which the parsed `URL` does not show.
  const authority = text.slice("https://".length).split(/[/?#]/)[0] ?? "";
  if (authority.includes("@")) return "must not contain credentials";
  if (isInternalHost(url.hostname)) {
    return "must be on the public internet (not a local, private or reserved host)";
  }
  return null;
}
