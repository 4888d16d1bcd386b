/** Puts a finished file in the place of one that this server saved: one of the two is there whole at every moment (docs/reference.md, Names of files). */
import { join } from "node:path";
import { type Digest, holds } from "./file-content.ts";
import { type Link, moveFree, type Publication, publish, syncFolder } from "./publish.ts";
import type { Replaced } from "./saved-file.ts";
import { removeQuietly } from "./temporary-file.ts";

/**
 * Publishes a finished temporary file under `name`, which the `replaced` file may have: that one is moved aside first
 * and removed last. What has the name and is not that very file stays, and the name is `taken`. Where a crash left
 * the old file aside, this ends what was begun.
 *
 * @param replaced a file of another name, or none, changes nothing: then this is {@link publish}
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
    // A power cut must not forget the old name and the new one at once.
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

/** @returns false where it stays, because it is open elsewhere, was edited at the last moment, or something is in the way */
async function moveAside(folder: string, name: string, replaced: Replaced): Promise<boolean> {
  const moved = await moveFree(join(folder, name), folder, replaced.movedTo).catch(() => "taken" as const);
  if (moved === "taken") return false;
  if (await holds(join(folder, replaced.movedTo), replaced)) return true;
  await moveFree(join(folder, replaced.movedTo), folder, name).catch(() => undefined);
  return false;
}

/** Nothing has taken its place: it gets its name again, unless somebody else has that by now. */
async function moveBack(folder: string, name: string, replaced: Replaced): Promise<void> {
  const aside = join(folder, replaced.movedTo);
  if (await holds(aside, replaced)) await moveFree(aside, folder, name).catch(() => undefined);
}
