/**
 * An npm registry on loopback. It has this project's packages as they would be published, and all other packages from
 * the project's node_modules.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { basename, dirname, join } from "node:path";
import { z } from "zod";

const packageJson = z.looseObject({ name: z.string(), version: z.string() });
const lockSchema = z.looseObject({ packages: z.record(z.string(), z.unknown()) });

export interface LoopbackRegistry {
  readonly url: string;
  stop(): Promise<void>;
}

function packed(folder: string, into: string): Buffer {
  const args = ["pack", "--silent", "--ignore-scripts", "--pack-destination", into];
  const name = execFileSync("npm", args, { cwd: folder, encoding: "utf8" }).trim();
  return readFileSync(join(into, name));
}

/** Packs a folder. npm drops the first folder of each path in an archive, whatever its name is. */
function archived(folder: string): Buffer {
  const args = ["-czf", "-", "--exclude=node_modules", "-C", dirname(folder), basename(folder)];
  return execFileSync("tar", args, { maxBuffer: 2 ** 28 });
}

/**
 * @param root the folder of this project, which must be built
 * @param into an empty folder for the packed files
 */
export async function startRegistry(root: string, into: string): Promise<LoopbackRegistry> {
  const { packages } = lockSchema.parse(JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")));
  const own = new Map(
    [root, join(root, "sandbox-package")].map((folder) => {
      const { name } = packageJson.parse(JSON.parse(readFileSync(join(folder, "package.json"), "utf8")));
      return [name, { folder, tarball: packed(folder, into) }] as const;
    }),
  );
  const foldersOf = (name: string): string[] =>
    own.has(name)
      ? [own.get(name)?.folder ?? root]
      : Object.keys(packages)
          .filter((path) => path.endsWith(`node_modules/${name}`))
          .map((path) => join(root, path));
  const tarballs = new Map<string, Buffer>();
  let url = "";

  function packument(name: string) {
    const versions = foldersOf(name).map((folder) => {
      const manifest = packageJson.parse(JSON.parse(readFileSync(join(folder, "package.json"), "utf8")));
      const path = `/-tarballs/${encodeURIComponent(name)}/${manifest.version}.tgz`;
      const bytes = own.get(name)?.tarball ?? archived(folder);
      tarballs.set(path, bytes);
      const integrity = `sha512-${createHash("sha512").update(bytes).digest("base64")}`;
      return [manifest.version, { ...manifest, dist: { tarball: `${url}${path}`, integrity } }] as const;
    });
    return { name, "dist-tags": { latest: versions[0]?.[0] }, versions: Object.fromEntries(versions) };
  }

  const server = createServer(({ url: path = "" }, response) => {
    const tarball = tarballs.get(path);
    const name = decodeURIComponent(path.slice(1));
    if (tarball !== undefined) response.end(tarball);
    else if (foldersOf(name).length > 0) {
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify(packument(name)));
    } else {
      response.statusCode = 404;
      response.end("{}");
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = z.object({ port: z.int() }).parse(server.address());
  url = `http://127.0.0.1:${port}`;
  return {
    url,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
