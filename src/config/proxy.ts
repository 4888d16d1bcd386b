/** Finds the proxy of the environment that requests to the service use (docs/reference.md, Configuration). */
import { BlockList, isIP } from "node:net";
import { decodePercent } from "../percent-decoding.ts";
import { findPastingFault } from "./pasting-fault.ts";
import type { SettingsReader } from "./settings-reader.ts";

/** The variables that may name the proxy, in the order in which they are read. */
export const PROXY_VARIABLES = ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"] as const;

export interface ProxyAddress {
  readonly user: string;
  readonly password: string;
  /** The address with user and password percent-encoded. */
  readonly url: string;
}

/**
 * Parses the address of a proxy in the forms that other programs accept: without a scheme (which means http), and with
 * characters in user and password that are not encoded, such as `DOMAIN\user` or a lone `%`.
 *
 * @returns a clause that follows the name of the variable if the address cannot be used
 */
export function parseProxyAddress(text: string): ProxyAddress | string {
  const pasted = findPastingFault(text);
  if (pasted !== null) return pasted;
  const [, scheme = "http", rest = ""] = /^(?:([a-z][a-z0-9+.-]*):)?\/\/(.*)$/is.exec(text) ?? [
    "",
    "http",
    text,
  ];
  const protocol = scheme.toLowerCase();
  if (protocol !== "http" && protocol !== "https") {
    return `names a ${protocol.slice(0, 20)} proxy, and only http and https proxies are supported`;
  }
  // A password may hold an @, a host cannot.
  const at = rest.lastIndexOf("@");
  const credentials = rest.slice(0, Math.max(0, at));
  const colon = credentials.includes(":") ? credentials.indexOf(":") : credentials.length;
  const user = decodePercent(credentials.slice(0, colon));
  const password = decodePercent(credentials.slice(colon + 1));
  const host = `${protocol}://${rest.slice(at + 1)}`;
  if (!URL.canParse(host) || new URL(host).port === "0") {
    return "is not the address of a proxy: its host or port cannot be read";
  }
  const url = new URL(host);
  const isAnonymous = user === "" && password === "";
  const prefix = isAnonymous ? "" : `${encodeURIComponent(user)}:${encodeURIComponent(password)}@`;
  return { user, password, url: `${url.protocol}//${prefix}${url.host}` };
}

/** Whether an entry such as `10.0.0.0/8` or `fd00::/8` is an address or a network that contains an address. */
function isInNetwork(address: string, entry: string): boolean {
  const [, network = "", bits] = /^([\da-f:.]+)(?:\/(\d+))?$/.exec(entry) ?? [];
  const [family, length] = isIP(network) === 6 ? (["ipv6", 128] as const) : (["ipv4", 32] as const);
  if (isIP(network) === 0 || isIP(address) === 0 || Number(bits ?? length) > length) return false;
  const networks = new BlockList();
  networks.addSubnet(network, Number(bits ?? length), family);
  return networks.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");
}

/** Whether NO_PROXY, a list of hosts, domains, networks and ports, excludes an address from the proxy. */
function isExcluded(address: URL, noProxy: string): boolean {
  const toName = (host: string): string => host.toLowerCase().replace(/[[\]]|\.$/g, "");
  const name = toName(address.hostname);
  return noProxy.split(/[\s,;]+/).some((entry) => {
    // A bare IPv6 address has colons and no port.
    const [, host = "", port = null] = /^(\[.*\]|[^:]*)(?::(\d+))?$/.exec(entry) ?? ["", entry];
    const domain = toName(host.replace(/^(?:\*\.?|\.)(?=.)/, ""));
    if (domain === "" || (port !== null && port !== (address.port || "443"))) return false;
    return domain === "*" || name === domain || name.endsWith(`.${domain}`) || isInNetwork(name, domain);
  });
}

/** The proxy that requests to the service use. */
export interface ProxySetting {
  /** The variable that names it. */
  readonly variable: string;
  /** Its address, with user and password. */
  readonly url: string;
}

/** Names a proxy without its user and password, and with the variable that sets it. */
export const nameProxy = ({ url, variable }: ProxySetting): string =>
  `proxy ${new URL(url).host} (${variable})`;

/**
 * Returns the proxy for the service; null if requests go to it directly. Plain http, which is allowed on
 * this machine only, uses no proxy, because the proxy would see the key. A variable of the shell that no request uses
 * is no issue.
 *
 * @param service the service's address; undefined if it is unknown
 */
export function readProxy(reader: SettingsReader, service: URL | undefined): ProxySetting | null {
  const readEitherCase = (upper: string): string | undefined =>
    reader.readText(upper) ?? reader.readText(upper.toLowerCase());
  const noProxy = readEitherCase("NO_PROXY") ?? "";
  const texts = PROXY_VARIABLES.map((name) => ({ name, text: reader.readText(name) }));
  const { name, text } = texts.find((each) => each.text !== undefined) ?? {};
  if (name === undefined || text === undefined || service?.protocol !== "https:") return null;
  if (isExcluded(service, noProxy)) return null;
  const address = parseProxyAddress(text);
  if (typeof address !== "string") return { variable: name, url: address.url };
  reader.addIssue(
    name,
    `${name} ${address}.`,
    `Set ${name} to http://user:password@host:port, with % written as %25 and a backslash as %5C, or unset it. NO_PROXY names hosts that need no proxy.`,
  );
  return null;
}
