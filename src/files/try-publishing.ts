/** Checks whether audio can be saved in a folder, by saving a file and removing it. */
import { createHash } from "node:crypto";
import { basename } from "node:path";
import { matchesDigest } from "./file-content.ts";
import { fileError, notWritableError } from "./file-error.ts";
import type { OutputFolder } from "./output-folder.ts";
import { publish } from "./publish.ts";
import { buildTemporaryPath, createTemporaryFile, flushToDisk, removeIfPresent } from "./temporary-file.ts";

const TEST_CONTENT = Buffer.alloc(4096, "audio-generation-mcp doctor ");

/**
 * Checks the folder: saves a small file in it under a new name, reads the file, and removes it.
 *
 * @throws AudioError `output_not_writable` or `disk_full`, with the reason
 */
export async function tryPublishing(folder: OutputFolder): Promise<void> {
  await folder.ensureWritable();
  const { root } = folder;
  // Use a hidden name, so that the next start removes the file if this process is killed here.
  const target = buildTemporaryPath(root);
  try {
    const temporaryFile = await createTemporaryFile(root);
    try {
      try {
        await temporaryFile.handle.write(TEST_CONTENT);
        await flushToDisk(temporaryFile.handle);
      } finally {
        await temporaryFile.handle.close();
      }
      const digest = {
        sizeBytes: TEST_CONTENT.byteLength,
        sha256: createHash("sha256").update(TEST_CONTENT).digest("hex"),
      };
      await publish(temporaryFile.path, root, basename(target), digest);
      if (!(await matchesDigest(target, digest)))
        throw notWritableError(root, "a file that was saved cannot be read back");
    } finally {
      await removeIfPresent(temporaryFile.path);
      await removeIfPresent(target);
    }
  } catch (error) {
    throw fileError(error, root);
  }
}
