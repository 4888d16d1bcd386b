/**
 * Fills in what all files of a publication must agree on, from `publisher.json`, package.json and manifest.json.
 */
import { z } from "zod";

export const publisherSchema = z.strictObject({
  owner: z.string().regex(/^[A-Za-z0-9-]+$/),
  repository: z.url({ protocol: /^https$/ }),
  author: z.string().min(1),
  privacy: z.url({ protocol: /^https$/ }),
  mcpName: z.string().regex(/^[A-Za-z0-9.-]+\/[A-Za-z0-9._-]+$/),
});
export type Publisher = z.infer<typeof publisherSchema>;

const packageSchema = z.looseObject({
  name: z.string(),
  version: z.string(),
  description: z.string(),
  license: z.string(),
  keywords: z.array(z.string()),
  engines: z.record(z.string(), z.string()),
  homepage: z.string(),
  mcpName: z.string(),
  peerDependencies: z.record(z.string(), z.string()),
});
type PackageManifest = z.infer<typeof packageSchema>;

const bundleSchema = z.looseObject({
  display_name: z.string(),
  server: z.looseObject({ mcp_config: z.looseObject({ env: z.record(z.string(), z.string()) }) }),
  user_config: z.record(
    z.string(),
    z.looseObject({
      title: z.string(),
      description: z.string(),
      required: z.boolean(),
      sensitive: z.boolean().optional(),
    }),
  ),
});
type Bundle = z.infer<typeof bundleSchema>;

const serverSchema = z.looseObject({
  packages: z.array(z.looseObject({ registryType: z.enum(["npm", "mcpb"]) })),
});

/** The JSON files to fill in. */
export const JSON_FILES = [
  "package.json",
  "manifest.json",
  "server.json",
  ".claude-plugin/plugin.json",
  ".claude-plugin/marketplace.json",
  ".codex-plugin/plugin.json",
  ".cursor-plugin/plugin.json",
  "gemini-extension.json",
  "glama.json",
  "sandbox-package/package.json",
] as const;
type JsonFile = (typeof JSON_FILES)[number];

/** The documents that contain the repository or the server's name in the registry. */
export const TEXT_FILES = ["README.md", "SECURITY.md", "Dockerfile", "sandbox-package/README.md"] as const;
type TextFile = (typeof TEXT_FILES)[number];

type Json = Readonly<Record<string, unknown>>;
export interface Publication {
  readonly json: Readonly<Record<JsonFile, Json>>;
  readonly texts: Readonly<Record<TextFile, string>>;
}

/**
 * The server's name inside the plugins. It is short, because Claude Code puts `mcp__plugin_`, the plugin's name and this
 * name before each tool, and several gateways allow 64 characters.
 */
const SERVER = "audio";

/** What a company's network needs. The plugins pass these variables on if the user has set them. */
const NETWORK_VARIABLES = ["HTTPS_PROXY", "NO_PROXY", "NODE_EXTRA_CA_CERTS"];
/** Clients that know defaults make an empty text of an unset variable. npm, Node and the server ignore it. */
const NETWORK_ENV = Object.fromEntries(NETWORK_VARIABLES.map((name) => [name, `\${${name}:-}`]));

const PLACEHOLDER = /placeholder[- ](?:owner|author)/i;

/** Returns whether nobody has decided yet who publishes. */
export function isPlaceholder(publisher: Publisher): boolean {
  return PLACEHOLDER.test(JSON.stringify(publisher));
}

export const holdsPlaceholder = (text: string): boolean => PLACEHOLDER.test(text);

export function bundleName({ name, version }: { name: string; version: string }): string {
  return `${name}-${version}.mcpb`;
}

/** Sets `private` in package.json while nobody has decided who publishes, and removes it afterwards. */
function withPrivacy(found: Json, publisher: Publisher): Json {
  const { private: _, ...rest } = found;
  return isPlaceholder(publisher) ? { ...found, private: true } : rest;
}

const buildOriginFields = ({ author, repository, mcpName }: Publisher): Json => ({
  author,
  homepage: `${repository}#readme`,
  repository: { type: "git", url: `git+${repository}.git` },
  bugs: `${repository}/issues`,
  mcpName,
});

function buildBundleManifest(found: Json, manifest: PackageManifest, publisher: Publisher): Json {
  const { name, version, description, license, keywords, engines } = manifest;
  const { author, owner, repository, privacy } = publisher;
  const { compatibility } = z.looseObject({ compatibility: z.record(z.string(), z.unknown()) }).parse(found);
  return {
    ...found,
    name,
    version,
    description: shortDescription(description),
    license,
    keywords,
    compatibility: { ...compatibility, runtimes: { node: engines["node"] } },
    author: { name: author, url: `https://github.com/${owner}` },
    repository: { type: "git", url: repository },
    homepage: repository,
    documentation: `${repository}#readme`,
    support: `${repository}/issues`,
    privacy_policies: [privacy],
  };
}

/** Removes "MCP server that" from the description, because the registry allows only 100 characters. */
function shortDescription(description: string): string {
  const words = description.replace(/^MCP server that /, "");
  return `${words.slice(0, 1).toUpperCase()}${words.slice(1)}`;
}

function buildRegistryEntry(
  found: Json,
  manifest: PackageManifest,
  { mcpName, repository }: Publisher,
): Json {
  const { name, version, description } = manifest;
  const identifiers = {
    npm: name,
    mcpb: `${repository}/releases/download/v${version}/${bundleName(manifest)}`,
  };
  const packages = serverSchema.parse(found).packages.map((entry) => ({
    ...entry,
    identifier: identifiers[entry.registryType],
    version,
  }));
  return {
    ...found,
    name: mcpName,
    description: shortDescription(description),
    version,
    repository: { url: repository, source: "github" },
    websiteUrl: repository,
    icons: [
      {
        src: `${repository.replace("//github.com/", "//raw.githubusercontent.com/")}/v${version}/assets/icon.png`,
        mimeType: "image/png",
        sizes: ["512x512"],
      },
    ],
    packages,
  };
}

const startOf = ({ name, version }: PackageManifest): Json => ({
  command: "npx",
  args: ["-y", `${name}@${version}`],
});

function pluginOrigin(manifest: PackageManifest, { author, owner, repository }: Publisher): Json {
  const { name, version, description, license, keywords } = manifest;
  return {
    name,
    version,
    description: shortDescription(description),
    author: { name: author, url: `https://github.com/${owner}` },
    homepage: repository,
    repository,
    license,
    keywords,
  };
}

/** Returns the settings in the bundle's form, each with its environment variable. The plugins use these settings. */
function askedSettings({ server, user_config }: Bundle) {
  return Object.entries(server.mcp_config.env).flatMap(([variable, value]) => {
    const setting = user_config[/^\$\{user_config\.(\w+)\}$/.exec(value)?.[1] ?? ""];
    return setting === undefined ? [] : [{ variable, ...setting }];
  });
}

function claudePlugin(manifest: PackageManifest, publisher: Publisher, bundle: Bundle): Json {
  const env = { ...bundle.server.mcp_config.env, ...NETWORK_ENV };
  return {
    ...pluginOrigin(manifest, publisher),
    userConfig: bundle.user_config,
    mcpServers: { [SERVER]: { ...startOf(manifest), env } },
  };
}

/** Builds the marketplace file for Claude. Codex reads the same file. */
function marketplace(manifest: PackageManifest, publisher: Publisher): Json {
  const { name, version, description } = manifest;
  return {
    name,
    owner: { name: publisher.author, url: `https://github.com/${publisher.owner}` },
    metadata: { description: shortDescription(description), version },
    plugins: [{ name, source: "./", description: shortDescription(description), version }],
  };
}

/**
 * Builds the plugin of Codex. Codex asks for no settings and expands no variables. It passes the variables that
 * `env_vars` names from its own environment to the server.
 */
function codexPlugin(manifest: PackageManifest, publisher: Publisher, bundle: Bundle): Json {
  const env_vars = [...askedSettings(bundle).map(({ variable }) => variable), ...NETWORK_VARIABLES];
  return {
    ...pluginOrigin(manifest, publisher),
    skills: "./skills/",
    mcpServers: { [SERVER]: { ...startOf(manifest), env_vars } },
    interface: {
      displayName: bundle.display_name,
      shortDescription: shortDescription(manifest.description),
      developerName: publisher.author,
      category: "Productivity",
      websiteURL: publisher.repository,
      privacyPolicyURL: publisher.privacy,
      logo: "./assets/icon.png",
    },
  };
}

/**
 * Builds the plugin of Cursor. Cursor replaces placeholders by the variables of its own environment. The placeholder of
 * an unset variable stays, and the server treats it as an unset setting. The variables of the network are not passed
 * on, because npm fails if its proxy is such a placeholder.
 */
function cursorPlugin(manifest: PackageManifest, publisher: Publisher, bundle: Bundle): Json {
  const env = Object.fromEntries(
    askedSettings(bundle).map(({ variable }) => [variable, `\${env:${variable}}`]),
  );
  return {
    ...pluginOrigin(manifest, publisher),
    displayName: bundle.display_name,
    logo: "assets/icon.png",
    skills: "./skills/",
    mcpServers: { [SERVER]: { ...startOf(manifest), env } },
  };
}

/**
 * Builds the extension of Gemini. It contains only the required settings, because Gemini asks for each setting at
 * the install. Gemini withholds variables whose names or values look like secrets unless they are named.
 */
function geminiExtension(manifest: PackageManifest, bundle: Bundle): Json {
  const { name, version, description } = manifest;
  const required = askedSettings(bundle).filter((setting) => setting.required);
  const settings = required.map(({ variable, title, description: words, sensitive = false }) => ({
    name: title,
    description: words,
    envVar: variable,
    sensitive,
  }));
  return {
    name,
    version,
    description: shortDescription(description),
    mcpServers: { [SERVER]: { ...startOf(manifest), env: NETWORK_ENV } },
    settings,
  };
}

function sandboxPackage(found: Json, manifest: PackageManifest, publisher: Publisher): Json {
  const { name, version, license, engines, peerDependencies } = manifest;
  return {
    ...withPrivacy(found, publisher),
    ...buildOriginFields(publisher),
    // Only the server itself has a name in the registry.
    mcpName: undefined,
    name: `${name}-sandbox`,
    version,
    license,
    engines,
    dependencies: { [name]: version, ...peerDependencies },
  };
}

/** Returns all files with everything filled in. Filling in twice changes nothing more. */
export function fillIn({ json, texts }: Publication, publisher: Publisher): Publication {
  const manifest = packageSchema.parse(json["package.json"]);
  const bundle = bundleSchema.parse(json["manifest.json"]);
  const before = { repository: manifest.homepage.replace(/#readme$/, ""), mcpName: manifest.mcpName };
  const path = (address: string): string => new URL(address).pathname.slice(1);
  const rewrite = (text: string): string =>
    text
      .replaceAll(before.repository, publisher.repository)
      .replaceAll(before.mcpName, publisher.mcpName)
      // Clients shorten the address to OWNER/NAME.
      .replaceAll(`marketplace ${path(before.repository)}`, `marketplace ${path(publisher.repository)}`);
  const filled: Record<JsonFile, Json> = {
    "package.json": { ...withPrivacy(json["package.json"], publisher), ...buildOriginFields(publisher) },
    "manifest.json": buildBundleManifest(json["manifest.json"], manifest, publisher),
    "server.json": buildRegistryEntry(json["server.json"], manifest, publisher),
    ".claude-plugin/plugin.json": claudePlugin(manifest, publisher, bundle),
    ".claude-plugin/marketplace.json": marketplace(manifest, publisher),
    ".codex-plugin/plugin.json": codexPlugin(manifest, publisher, bundle),
    ".cursor-plugin/plugin.json": cursorPlugin(manifest, publisher, bundle),
    "gemini-extension.json": geminiExtension(manifest, bundle),
    "glama.json": { $schema: "https://glama.ai/mcp/schemas/server.json", maintainers: [publisher.owner] },
    "sandbox-package/package.json": sandboxPackage(json["sandbox-package/package.json"], manifest, publisher),
  };
  return {
    json: z
      .record(z.enum(JSON_FILES), z.record(z.string(), z.unknown()))
      .parse(JSON.parse(JSON.stringify(filled))),
    texts: Object.fromEntries(TEXT_FILES.map((name) => [name, rewrite(texts[name])])) as Publication["texts"],
  };
}
