/** Replaces a file that this server saved. At every moment one of the two is there, whole (docs/reference-files.md, Names of files). */
import { join } from "node:path";
import { type Digest, holds } from "./file-content.ts";
import { type Link, moveFree, type Publication, publish, syncFolder } from "./publish.ts";
import type { Replaced } from "./saved-file.ts";
import { removeQuietly } from "./temporary-file.ts";

/**
 * Publishes a finished temporary file under `name`. If the `replaced` file has that name, it is moved aside first
 * and removed last. Any other file with that name stays, and the name is `taken`. If a crash left
 * the old file aside, this completes the replacement.
 *
 * @param replaced ignored if it has another name; then this is {@link publish}
 */
export async function publishReplacing(
  temporaryPath: string,
  folder: string,
  name: string,
  digest: Digest,
  replaced: Replaced | null,
  makeLink?: Link,
): Promise<Publication> {
  if (replaced?.name !== name) return await publish(temporaryPath, folder, name, digest, makeLink);
  if (!isSame(digest, replaced) && (await holds(join(folder, name), replaced))) {
    if (!(await moveAside(folder, name, replaced))) return "taken";
    // A power cut must not lose both the old and the new name.
    await syncFolder(folder);
  }
  let outcome: Publication = "taken";
  try {
    outcome = await publish(temporaryPath, folder, name, digest, makeLink);
  } finally {
    if (outcome === "taken") await moveBack(folder, name, replaced);
  }
  if (outcome === "taken") return outcome;
  await syncFolder(folder);
  const aside = join(folder, replaced.movedTo);
  if (await holds(aside, replaced)) await removeQuietly(aside);
  return outcome;
}

const isSame = (a: Digest, b: Digest): boolean => a.sizeBytes === b.sizeBytes && a.sha256 === b.sha256;

/** @returns false if the file stays, because it is open elsewhere, was edited at the last moment, or the other name is used */
async function moveAside(folder: string, name: string, replaced: Replaced): Promise<boolean> {
  const moved = await moveFree(join(folder, name), folder, replaced.movedTo).catch(() => "taken" as const);
  if (moved === "taken") return false;
  if (await holds(join(folder, replaced.movedTo), replaced)) return true;
  await moveFree(join(folder, replaced.movedTo), folder, name).catch(() => undefined);
  return false;
}

/** Restores the old file's name if the new file was not published, unless another file has it by now. */
async function moveBack(folder: string, name: string, replaced: Replaced): Promise<void> {
  const aside = join(folder, replaced.movedTo);
  if (await holds(aside, replaced)) await moveFree(aside, folder, name).catch(() => undefined);
}
