/** Owns what package.json, manifest.json and server.json must agree on: filled in from `publisher.json` and one version. */
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
  license: z.string(),
  keywords: z.array(z.string()),
});
type PackageManifest = z.infer<typeof packageSchema>;

const serverSchema = z.looseObject({
  packages: z.array(z.looseObject({ registryType: z.enum(["npm", "mcpb"]) })),
});

/** The three files, parsed; what publishing does not concern passes through untouched. */
export interface Publication {
  readonly package: Record<string, unknown>;
  readonly manifest: Record<string, unknown>;
  readonly server: Record<string, unknown>;
}

/** Whether the publisher is still to be decided. */
export function isPlaceholder(publisher: Publisher): boolean {
  return /placeholder/i.test(JSON.stringify(publisher));
}

export function bundleName({ name, version }: { name: string; version: string }): string {
  return `${name}-${version}.mcpb`;
}

/** `private` stands in package.json exactly as long as nobody has decided who publishes. */
function fillPackage(found: Record<string, unknown>, publisher: Publisher): Record<string, unknown> {
  const { private: _, ...rest } = found;
  return {
    ...(isPlaceholder(publisher) ? { ...found, private: true } : rest),
    author: publisher.author,
    homepage: `${publisher.repository}#readme`,
    repository: { type: "git", url: `git+${publisher.repository}.git` },
    bugs: `${publisher.repository}/issues`,
    mcpName: publisher.mcpName,
  };
}

function fillManifest(
  found: Record<string, unknown>,
  { name, version, license, keywords }: PackageManifest,
  { author, owner, repository, privacy }: Publisher,
): Record<string, unknown> {
  return {
    ...found,
    name,
    version,
    license,
    keywords,
    author: { name: author, url: `https://github.com/${owner}` },
    repository: { type: "git", url: repository },
    homepage: repository,
    documentation: `${repository}#readme`,
    support: `${repository}/issues`,
    privacy_policies: [privacy],
  };
}

function fillServer(
  found: Record<string, unknown>,
  manifest: PackageManifest,
  { mcpName, repository }: Publisher,
): Record<string, unknown> {
  const { name, version } = manifest;
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
    version,
    repository: { url: repository, source: "github" },
    websiteUrl: repository,
    packages,
  };
}

/** The three files as they must be. Filling in what is filled in already changes nothing. */
export function fillIn(found: Publication, publisher: Publisher): Publication {
  const manifest = packageSchema.parse(found.package);
  return {
    package: fillPackage(found.package, publisher),
    manifest: fillManifest(found.manifest, manifest, publisher),
    server: fillServer(found.server, manifest, publisher),
  };
}
