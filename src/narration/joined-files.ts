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
import { formatOf } from "../generation/saved-files.ts";
import { doubtsOf } from "./doubts.ts";
import {
  formatOfPlan,
  type NarrationFile,
  type NarrationProblem,
  type NarrationState,
  type StoredPlan,
} from "./narration-state.ts";
import type { PartFile } from "./part-files.ts";

export interface JoinOrder {
  readonly narrationId: string;
  readonly plan: StoredPlan;
  readonly state: NarrationState;
  readonly parts: readonly PartFile[];
  readonly signal: AbortSignal;
}

export type MadeFiles = Pick<NarrationState, "files" | "joinedFrom" | "doubts">;

export interface JoinedFiles {
  /**
   * The files of a narration; those that are there already, of the very same parts and under the same name, stay.
   *
   * @throws AudioError what saving throws; PartsDifferError, DamagedPartError
   */
  make(order: JoinOrder): Promise<MadeFiles>;
  /** Whether every file is as it was saved. */
  areThere(files: readonly NarrationFile[]): Promise<boolean>;
}

/** One file to be: which parts, and what it is called. */
interface Binding {
  readonly name: string;
  readonly chapter: string | null;
  readonly parts: readonly PartFile[];
}

/** Leaves room for the number and the title of a chapter. */
const STEM_CODE_POINTS = 70;

export function createJoinedFiles(deps: {
  readonly folder: OutputFolder;
  readonly clock: Pick<Clock, "wallMs">;
}): JoinedFiles {
  const { folder } = deps;
  const areThere = async (files: readonly NarrationFile[]): Promise<boolean> => {
    for (const file of files) if (!(await isIntact(file, folder.root))) return false;
    return true;
  };
  return {
    areThere,
    async make(order) {
      const { state } = order;
      const joinedFrom = fingerprintOf(order);
      if (state.joinedFrom === joinedFrom && state.files.length > 0 && (await areThere(state.files))) {
        return { files: state.files, joinedFrom, doubts: state.doubts };
      }
      const files: NarrationFile[] = [];
      const doubts: NarrationProblem[] = [];
      for (const binding of bindingsOf(order)) {
        const name = await nameOfItsOwn(folder, binding.name);
        const bound = await bind(deps, order, { ...binding, name });
        files.push(bound.file);
        doubts.push(...bound.doubts);
      }
      return { files, joinedFrom, doubts };
    },
  };
}

/** What makes other files: other audio, other pauses, another name. */
function fingerprintOf({ plan, state, parts }: JoinOrder): string {
  const hash = createHash("sha256").update(JSON.stringify([plan.files, state.fileName]));
  for (const { index, file } of parts) {
    hash.update(JSON.stringify([index, file.sha256, plan.parts[index]?.pauseAfterSeconds]));
  }
  return hash.digest("hex");
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

function bindingsOf({ narrationId, plan, state, parts }: JoinOrder): Binding[] {
  const format = formatOfPlan(plan);
  const name =
    state.fileName === null
      ? automaticName(format, plan.title, narrationId)
      : givenName(state.fileName, format);
  const numbers = [...new Set(parts.map(({ index }) => plan.parts[index]?.section ?? 0))];
  // A single section would give its title twice, once as the narration's.
  if (plan.files === "one" || plan.sections.length === 1) return [{ name, chapter: null, parts }];
  const digits = Math.max(2, `${plan.sections.length}`.length);
  const stem = firstCodePoints(name.replace(/\.[^.]*$/, ""), STEM_CODE_POINTS);
  return numbers.map((section) => {
    const chapter = plan.sections[section]?.title ?? plan.title;
    const number = `${section + 1}`.padStart(digits, "0");
    return {
      name: givenName(`${stem}-${number}-${firstWords(chapter)}`, format),
      chapter,
      parts: parts.filter(({ index }) => plan.parts[index]?.section === section),
    };
  });
}

async function bind(
  { folder, clock }: { readonly folder: OutputFolder; readonly clock: Pick<Clock, "wallMs"> },
  { plan, signal }: JoinOrder,
  { name, chapter, parts }: Binding,
): Promise<{ readonly file: NarrationFile; readonly doubts: readonly NarrationProblem[] }> {
  const format = formatOfPlan(plan);
  const title = chapter ?? plan.title;
  const chapters = chapter === null ? chapterMarks(plan, parts) : [];
  const sources = parts.map(({ file, record, index }, at) => ({
    path: file.path,
    durationSeconds: record.output?.durationSeconds ?? record.audioSeconds ?? 0,
    sampleRateHz: formatOf(record).sampleRateHz,
    pauseAfterSeconds: at === parts.length - 1 ? 0 : (plan.parts[index]?.pauseAfterSeconds ?? 0),
  }));
  // Only who joins needs the formats.
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
      results.push(await joinAudio({ format, title, parts: sources, chapters, write, signal }));
    },
  });
  const [joined] = results;
  if (joined === undefined) throw new Error("nothing was joined");
  const { makeCompanions } = await import("./companions.ts");
  const texts = parts.map(({ index }) => plan.parts[index]?.text ?? "");
  const captionsPath = await makeCompanions({ folder, saved, format, title, sources, texts, joined, signal });
  const file = { ...saved, durationSeconds: joined.durationSeconds, chapter, captionsPath };
  return { file, doubts: doubtsOf(plan, parts, joined) };
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
