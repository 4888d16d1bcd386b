/** Saves a small text beside audio, completely or not at all. Never overwrites another file. */
import { join } from "node:path";
import type { FileDigest } from "./file-content.ts";
import { fileError } from "./file-error.ts";
import { FileSink } from "./file-sink.ts";
import { tryNumberedNames } from "./free-names.ts";
import { assertInPlace, type OutputFolder } from "./output-folder.ts";
import { publish, syncFolder } from "./publish.ts";
import { createTemporaryFile, removeIfPresent } from "./temporary-file.ts";

const FILE_MODE = 0o644;

export interface SavedText extends FileDigest {
  readonly path: string;
}

/**
 * Saves a text under a name. If a file with the same name and text exists, keeps that file instead. If another file has
 * the name, uses the next free name.
 *
 * @param fileName with extension
 * @throws AudioError `disk_full`, `output_not_writable`, or `invalid_file_name` if no name is free
 */
export async function saveText(folder: OutputFolder, fileName: string, text: string): Promise<SavedText> {
  const { root } = folder;
  try {
    await assertInPlace(root);
    const temporary = await createTemporaryFile(root);
    try {
      const sink = new FileSink(temporary);
      await sink.write(Buffer.from(text));
      await temporary.handle.chmod(FILE_MODE & ~process.umask()).catch(() => undefined);
      const digest = await sink.finish();
      const name = await tryNumberedNames(
        fileName,
        async (tried) => (await publish(temporary.path, root, tried, digest)) !== "taken",
      );
      await syncFolder(root);
      return { path: join(root, name), ...digest };
    } finally {
      await temporary.handle.close();
      await removeIfPresent(temporary.path);
    }
  } catch (error) {
    throw fileError(error, root);
  }
}
