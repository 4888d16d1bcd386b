/** Saves a small text beside an audio: whole or not at all, and never over another file. */
import { join } from "node:path";
import { AudioSink } from "./audio-sink.ts";
import { fileExists, fileFailure } from "./file-failure.ts";
import { nextName } from "./next-name.ts";
import { assertInPlace, type OutputFolder } from "./output-folder.ts";
import { publish, syncFolder } from "./publish.ts";
import { createTemporaryFile, removeQuietly } from "./temporary-file.ts";

const FILE_MODE = 0o644;

/**
 * The very same text under the name already is adopted; where the name is taken, the next free one is.
 *
 * @param fileName with extension
 * @returns the path
 * @throws AudioError `file_exists`, `disk_full`, `output_not_writable`
 */
export async function saveText(folder: OutputFolder, fileName: string, text: string): Promise<string> {
  const { root } = folder;
  try {
    await assertInPlace(root);
    const temporary = await createTemporaryFile(root);
    try {
      const sink = new AudioSink(temporary);
      await sink.write(Buffer.from(text));
      await temporary.handle.chmod(FILE_MODE & ~process.umask()).catch(() => undefined);
      const digest = await sink.finish();
      const name = await nextName(
        fileName,
        async (tried) => (await publish(temporary.path, root, tried, digest)) !== "taken",
      );
      if (name === null) throw fileExists(fileName);
      await syncFolder(root);
      return join(root, name);
    } finally {
      await temporary.handle.close();
      await removeQuietly(temporary.path);
    }
  } catch (error) {
    throw fileFailure(error, root);
  }
}
