/** Plans how a file gives way to the one that replaces it. */
import type { Digest } from "./file-content.ts";
import { previousName } from "./file-name.ts";
import { nextName } from "./next-name.ts";
import type { OutputFolder } from "./output-folder.ts";
import { precheckFileName } from "./saved-copies.ts";
import type { Replaced } from "./saved-file.ts";

/** Chooses the free name that a file has until the one that replaces it is in its place. */
export async function planReplacement(
  folder: OutputFolder,
  name: string,
  { sizeBytes, sha256 }: Digest,
): Promise<Replaced> {
  const isFree = async (tried: string): Promise<boolean> =>
    (await precheckFileName(folder, tried)) === "free";
  return { sizeBytes, sha256, name, movedTo: await nextName(previousName(name), isFree) };
}
