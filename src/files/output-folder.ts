/** The output folder: resolves its real path, creates it, and checks that it can be written. */
import { mkdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { type Clock, systemClock } from "../clock.ts";
import { AudioError } from "../errors.ts";
import { fileError, getSystemCode, notWritableError } from "./file-error.ts";
import { isOtherSpelling, pathExists, resolveRealPath } from "./real-path.ts";
import { sweepTemporaryFiles, withTemporaryFile } from "./temporary-file.ts";

export interface OutputFolder {
  /**
   * Absolute real path. A symbolic link in the setting is resolved once, when the folder is opened. A disk may change
   * the spelling of a new folder's name (case, accents, dots). {@link ensureExists} then uses the disk's spelling.
   */
  readonly root: string;
  /**
   * Creates the folder (0700) if it is missing, and throws if its path now leads elsewhere.
   *
   * @throws AudioError `output_not_writable`, with the reason
   */
  ensureExists(): Promise<void>;
  /**
   * Does the same as {@link ensureExists}, then checks with a probe file that the folder can be written.
   *
   * @throws AudioError `output_not_writable` or `disk_full`, with the reason
   */
  ensureWritable(): Promise<void>;
  /** Removes old temporary files that killed processes left; never fails. */
  sweepStaleTemporaryFiles(): Promise<void>;
}

/** The folder for the parts of narrations. It is hidden, because people get the joined file instead. */
export const buildPartsPath = (root: string): string => join(root, ".parts");

/** Size of the probe file, large enough to detect a full disk. */
const PROBE_BYTES = 4096;

/**
 * Resolves the path of a folder that may not exist yet. Joins the real path of its nearest existing ancestor and the
 * rest of the path.
 */
async function resolveExistingPart(path: string): Promise<string> {
  try {
    return await resolveRealPath(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(await resolveExistingPart(parent), basename(path));
  }
}

/**
 * Creates a folder, one level at a time. A recursive `mkdir` never returns if a level can neither be created nor found,
 * as in /proc.
 */
async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    const code = getSystemCode(error);
    if (code === "EEXIST") return;
    const parent = dirname(path);
    if (code !== "ENOENT" || parent === path) throw error;
    // Another process may have created the folder meanwhile.
    if (!(await pathExists(parent))) await makeFolder(parent);
    await mkdir(path, { mode: 0o700 }).catch((again) => {
      if (getSystemCode(again) !== "EEXIST") throw again;
    });
  }
}

/**
 * Throws if the real path of a folder has changed, for example because somebody has put a symbolic link into the path.
 *
 * @returns the disk's own spelling of the path
 */
export async function assertInPlace(root: string): Promise<string> {
  const real = await resolveRealPath(root);
  if (real === root || (await isOtherSpelling(root, real))) return real;
  throw notWritableError(root, "the path now leads somewhere else");
}

/**
 * Resolves the output folder at an absolute path. Creates nothing yet.
 *
 * @param path `AUDIO_OUTPUT_DIR`; a symbolic link in it is followed, because a person chose the path
 */
export async function openOutputFolder(
  path: string,
  clock: Pick<Clock, "wallMs"> = systemClock,
): Promise<OutputFolder> {
  return buildOutputFolder(await resolveExistingPart(path), clock);
}

/** Opens the folder of the parts. Nobody chose its path, so a link in that path is refused. */
export const openPartsFolder = ({ root }: OutputFolder, clock: Pick<Clock, "wallMs">): OutputFolder =>
  buildOutputFolder(buildPartsPath(root), clock);

function buildOutputFolder(given: string, clock: Pick<Clock, "wallMs">): OutputFolder {
  let root = given;
  const createFolder = async (): Promise<void> => {
    // Create the folder if it is missing, for example at the first use.
    root = await assertInPlace(root).catch(async (error) => {
      if (error instanceof AudioError) throw error;
      // A link in the place of its parent must not lead to a new folder elsewhere.
      await assertInPlace(dirname(root)).catch((cause: unknown) => {
        if (cause instanceof AudioError) throw cause;
      });
      await makeFolder(root);
      return await assertInPlace(root);
    });
  };
  return {
    get root() {
      return root;
    },
    async ensureExists() {
      try {
        await createFolder();
      } catch (error) {
        throw fileError(error, root);
      }
    },
    async ensureWritable() {
      try {
        await createFolder();
        await withTemporaryFile(root, (probe) => probe.write(Buffer.alloc(PROBE_BYTES)));
      } catch (error) {
        throw fileError(error, root);
      }
    },
    async sweepStaleTemporaryFiles() {
      const existingRoot = await assertInPlace(root).catch(() => null);
      if (existingRoot !== null) await sweepTemporaryFiles(root, clock.wallMs());
    },
  };
}
