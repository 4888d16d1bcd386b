/** Makes a narration's files out of its parts: joined, verified, published under free names. */
import { createHash } from "node:crypto";
import { basename, extname } from "node:path";
import type { JoinedAudio } from "../audio/join.ts";
import type { Clock } from "../clock.ts";
import { FILE_EXTENSIONS } from "../contract/audio-format.ts";
import { firstCodePoints } from "../contract/unicode.ts";
import { automaticName, firstWords } from "../files/automatic-name.ts";
import { givenName } from "../files/file-name.ts";
import { nextName } from "../files/next-name.ts";
import type { OutputFolder } from "../files/output-folder.ts";
import { isIntact, precheckFileName, saveAudio } from "../files/save-audio.ts";
import { removeQuietly } from "../files/temporary-file.ts";
import { formatOf } from "../generation/saved-files.ts";
import { doubtsOf } from "./doubts.ts";
import { formatOfPlan, type NarrationFile, type NarrationState, type StoredPlan } from "./narration-state.ts";
import type { PartFile } from "./part-request.ts";

/** One file that a plan makes. */
export interface PlannedFile {
  /** Index of its chapter; `null`: it holds the whole narration. */
  readonly section: number | null;
  /** Indexes of its parts, in reading order. */
  readonly parts: readonly number[];
}

export interface JoinOrder {
  readonly narrationId: string;
  readonly plan: StoredPlan;
  /** How it is named, and the files that there are. */
  readonly state: NarrationState;
  readonly file: PlannedFile;
  readonly parts: readonly PartFile[];
  /** Whether these are all parts that the file is to have; the name of an incomplete file says so. */
  readonly isWhole: boolean;
  readonly signal: AbortSignal;
}

export interface JoinedFiles {
  /**
   * Joins one file. The file that is there already, of the very same parts and under the same name, stays. A whole file
   * takes the place of the incomplete one.
   *
   * @throws AudioError what saving throws; PartsDifferError, DamagedPartError
   */
  make(order: JoinOrder): Promise<NarrationFile>;
}

/** Leaves room for the number and the title of a chapter. */
const STEM_CODE_POINTS = 70;

const INCOMPLETE = " (incomplete)";

/** In reading order. */
export function plannedFiles(plan: StoredPlan): PlannedFile[] {
  const indexes = plan.parts.map((_, index) => index);
  // A single section would give its title twice, once as the narration's.
  if (plan.files === "one" || plan.sections.length === 1) return [{ section: null, parts: indexes }];
  return plan.sections.flatMap((_, section) => {
    const parts = indexes.filter((index) => plan.parts[index]?.section === section);
    return parts.length === 0 ? [] : [{ section, parts }];
  });
}

export function createJoinedFiles(deps: {
  readonly folder: OutputFolder;
  readonly clock: Pick<Clock, "wallMs">;
}): JoinedFiles {
  const { folder } = deps;
  return {
    async make(order) {
      const { state, file, isWhole } = order;
      const madeFrom = fingerprintOf(order);
      const before = state.files.find(({ section }) => section === file.section);
      if (before !== undefined && (await isIntact(before, folder.root))) {
        // What is whole is not replaced by less.
        if (before.madeFrom === madeFrom || (!isWhole && !before.isIncomplete)) return before;
      }
      // It holds nothing that the new one lacks, and gives it its name.
      if (before?.isIncomplete === true && !isWhole) await removeFile(before, folder.root);
      const name = await nameOfItsOwn(folder, nameOf(order));
      const made = { ...(await join(deps, order, name)), madeFrom };
      if (before?.isIncomplete === true) await removeFile(before, folder.root);
      return made;
    },
  };
}

/** What makes another file: other audio, other pauses, another name. */
function fingerprintOf({ plan, state, file, parts, isWhole }: JoinOrder): string {
  const hash = createHash("sha256").update(JSON.stringify([file.section, state.fileName, isWhole]));
  for (const { index, file: audio } of parts) {
    hash.update(JSON.stringify([index, audio.sha256, plan.parts[index]?.pauseAfterSeconds]));
  }
  return hash.digest("hex");
}

/** Only a file that is as this server saved it is removed; what lies beside it goes with it. */
async function removeFile(file: NarrationFile, root: string): Promise<void> {
  if (!(await isIntact(file, root))) return;
  for (const path of [file.path, file.captionsPath, file.chaptersPath]) {
    if (path !== null) await removeQuietly(path);
  }
}

/** Players look for captions by the name without its extension: it must not be that of an audio of another format. */
async function nameOfItsOwn(folder: OutputFolder, name: string): Promise<string> {
  const extension = extname(name);
  const others = Object.values(FILE_EXTENSIONS).filter((other) => other !== extension);
  const own = await nextName(name, async (tried) => {
    const stem = basename(tried, extension);
    const taken = await Promise.all(others.map((other) => precheckFileName(folder, `${stem}${other}`)));
    return taken.every((verdict) => verdict === "free");
  });
  return own ?? name;
}

function nameOf({ narrationId, plan, state, file, isWhole }: JoinOrder): string {
  const format = formatOfPlan(plan);
  const name =
    state.fileName === null
      ? automaticName(format, plan.title, narrationId)
      : givenName(state.fileName, format);
  const ending = isWhole ? "" : INCOMPLETE;
  if (file.section === null && isWhole) return name;
  const stem = firstCodePoints(name.replace(/\.[^.]*$/, ""), STEM_CODE_POINTS);
  if (file.section === null) return givenName(`${stem}${ending}`, format);
  const digits = Math.max(2, `${plan.sections.length}`.length);
  const number = `${file.section + 1}`.padStart(digits, "0");
  return givenName(`${stem}-${number}-${firstWords(chapterOf(plan, file.section))}${ending}`, format);
}

const chapterOf = (plan: StoredPlan, section: number): string => plan.sections[section]?.title ?? plan.title;

async function join(
  { folder, clock }: { readonly folder: OutputFolder; readonly clock: Pick<Clock, "wallMs"> },
  { plan, file, parts, isWhole, signal }: JoinOrder,
  name: string,
): Promise<Omit<NarrationFile, "madeFrom">> {
  const format = formatOfPlan(plan);
  const chapter = file.section === null ? null : chapterOf(plan, file.section);
  const title = chapter ?? plan.title;
  const chapters = chapter === null ? chapterMarks(plan, parts) : [];
  const sources = parts.map(({ file: audio, record, index }, at) => ({
    path: audio.path,
    durationSeconds: record.output?.durationSeconds ?? record.audioSeconds ?? 0,
    sampleRateHz: formatOf(record).sampleRateHz,
    pauseAfterSeconds: at === parts.length - 1 ? 0 : (plan.parts[index]?.pauseAfterSeconds ?? 0),
  }));
  // Loaded when something is joined, because nothing else needs the formats.
  const { joinAudio } = await import("../audio/join.ts");
  const results: JoinedAudio[] = [];
  const saved = await saveAudio({
    folder,
    fileName: name,
    nameIsGiven: false,
    keepsUnsound: false,
    format,
    clock,
    download: async (sink) => {
      const write = (bytes: Uint8Array): Promise<void> => sink.write(bytes);
      results.push(
        await joinAudio({ format, title, author: plan.author, parts: sources, chapters, write, signal }),
      );
    },
  });
  const [joined] = results;
  if (joined === undefined) throw new Error("nothing was joined");
  const { makeCompanions } = await import("./companions.ts");
  const texts = parts.map(({ index }) => plan.parts[index]?.text ?? "");
  const companions = await makeCompanions({ folder, saved, format, title, sources, texts, joined, signal });
  const held = new Set(parts.map(({ index }) => index));
  return {
    ...saved,
    ...companions,
    section: file.section,
    chapter,
    durationSeconds: joined.durationSeconds,
    isIncomplete: !isWhole,
    missingParts: file.parts.filter((index) => !held.has(index)),
    doubts: doubtsOf(plan, parts, joined),
  };
}

/** Where each section begins; a text without headings has no chapters. */
function chapterMarks(
  plan: StoredPlan,
  parts: readonly PartFile[],
): Array<{ readonly title: string; readonly firstPart: number }> {
  const heading = plan.sections.find(({ title }) => title !== null)?.title;
  if (heading === undefined) return [];
  return plan.sections.flatMap(({ title }, section) => {
    const firstPart = parts.findIndex(({ index }) => plan.parts[index]?.section === section);
    // What stands before the first heading is no chapter of that name.
    if (firstPart === -1 || (title === null && plan.title === heading)) return [];
    return [{ title: title ?? plan.title, firstPart }];
  });
}
