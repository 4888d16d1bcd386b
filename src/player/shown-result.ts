/** Converts a tool's result to what the page shows. */
import {
  type Fields,
  parseEntries,
  parseFields,
  parseId,
  parseNumber,
  parseResultText,
  parseText,
} from "./parse-fields.ts";

export type Format = "mp3" | "wav" | "pcm" | "ogg";

/** A saved file, and the address of its bytes. */
export interface AudioFile {
  readonly uri: string;
  readonly path: string;
  readonly format: Format;
  readonly sizeBytes: number;
  /** Duration, or null if it is unknown. */
  readonly seconds: number | null;
  /** Sample rate. Only pcm needs this field, because a pcm file does not state its sample rate. */
  readonly sampleRateHz: number;
  /**
   * Address to which the page appends `/captions` or `/chapters`; null if the sound has neither captions nor chapters.
   */
  readonly companionsBaseUri: string | null;
  /** Title of the chapter if the file contains a single chapter, otherwise empty. */
  readonly chapter: string;
}

export interface ShownResult {
  readonly kind: "task" | "narration" | "text";
  readonly id: string;
  /** The narration's title; if empty, the file's name is shown. */
  readonly title: string;
  readonly status: string;
  readonly message: string;
  readonly isError: boolean;
  /** Facts to show with the title, such as format, duration and credits. */
  readonly facts: readonly string[];
  readonly take: number | null;
  readonly audioFiles: readonly AudioFile[];
  /** Number of saved parts and of all parts; null if the result states none. */
  readonly parts: { readonly saved: number; readonly total: number } | null;
  /** The text to show once the sound is open; may be empty. */
  readonly note: string;
}

const FORMAT_PATTERNS: readonly [RegExp, Format][] = [
  [/\.mp3$/i, "mp3"],
  [/\.wav$/i, "wav"],
  [/\.pcm$/i, "pcm"],
  [/\.ogg$/i, "ogg"],
];

export const MIME_TYPES: Readonly<Record<Format, string>> = {
  mp3: "audio/mpeg",
  wav: "audio/wav",
  pcm: "audio/wav",
  ogg: "audio/ogg",
};

/** Returns the last component of a path. */
export const getFileName = (path: string): string => path.split(/[\\/]/).at(-1) ?? path;

/**
 * Formats a time as `m:ss`, or as `h:mm:ss` from one hour on. Drops fractions of a second. A negative time counts as 0.
 */
export const formatClock = (seconds: number): string => {
  const wholeSeconds = Math.max(0, Math.floor(seconds));
  const [hours, minutes] = [Math.floor(wholeSeconds / 3600), Math.floor(wholeSeconds / 60) % 60];
  const tail = `${hours > 0 ? `${minutes}`.padStart(2, "0") : minutes}:${`${wholeSeconds % 60}`.padStart(2, "0")}`;
  return hours > 0 ? `${hours}:${tail}` : tail;
};

/** Maximum duration to show: one day. A longer stated duration is considered an error and ignored. */
const MAX_SHOWN_SECONDS = 86_400;

function parseAudioFile(
  file: Fields,
  uri: string,
  statedSeconds: unknown,
  companions: string | null,
): AudioFile | null {
  const path = parseText(file["path"], 4096);
  const format = FORMAT_PATTERNS.find(([ending]) => ending.test(path))?.[1];
  const sizeBytes = parseNumber(file["size_bytes"]);
  if (format === undefined || sizeBytes === null || sizeBytes === 0) return null;
  const seconds = parseNumber(statedSeconds, MAX_SHOWN_SECONDS) || null;
  // Results of narrations state no sample rate. Compute it from size and duration, assuming speech: 16-bit samples, one
  // channel.
  const rate =
    parseNumber(file["sample_rate"], 200_000) || Math.round(sizeBytes / 2 / (seconds || 1)) || 24_000;
  const chapter = parseText(file["chapter"], 200);
  return {
    uri,
    path,
    format,
    sizeBytes,
    seconds,
    sampleRateHz: rate,
    companionsBaseUri: companions,
    chapter,
  };
}

const formatCredits = (value: unknown): string[] => {
  const count = parseNumber(value);
  return count === null ? [] : [`${count} credits`];
};

function parseTask(
  structuredContent: Fields,
  taskId: string,
  messageForPeople: string,
  isError: boolean,
): ShownResult {
  const audio = parseFields(structuredContent["audio"]);
  const uri = `audio://tasks/${encodeURIComponent(taskId)}/content`;
  const audioFile = parseAudioFile(audio, uri, structuredContent["audio_seconds"], null);
  const take = parseNumber(structuredContent["take"], 999);
  const rate = parseNumber(audio["sample_rate"]);
  const voice = parseText(structuredContent["voice"], 100);
  return {
    kind: "task",
    id: taskId,
    title: "",
    status: parseText(structuredContent["status"], 20),
    message: parseText(structuredContent["message"]) || messageForPeople,
    isError,
    facts: [
      ...(audioFile === null ? [] : [audioFile.format]),
      ...(rate === null ? [] : [`${rate / 1000} kHz`]),
      ...(audioFile?.seconds == null ? [] : [formatClock(audioFile.seconds)]),
      ...formatCredits(parseFields(structuredContent["billing"])["charged_credits"]),
      ...(voice === "" ? [] : [voice]),
    ],
    take,
    audioFiles: audioFile === null ? [] : [audioFile],
    parts: null,
    note: "",
  };
}

function parseNarration(
  structuredContent: Fields,
  { id: narrationId, title }: Pick<ShownResult, "id" | "title">,
  messageForPeople: string,
  isError: boolean,
): ShownResult {
  const parts = parseFields(structuredContent["parts"]);
  const total = parseNumber(parts["total"], 1e6);
  const base = `audio://narrations/${narrationId}/files/`;
  const audioFiles = parseEntries(structuredContent["files"], 200).flatMap((entry, index) => {
    const file = parseFields(entry);
    const uri = `${base}${index + 1}`;
    const audioFile = parseAudioFile(file, uri, file["duration_seconds"], uri);
    return audioFile === null ? [] : [audioFile];
  });
  const seconds = audioFiles.reduce((sum, audioFile) => sum + (audioFile.seconds ?? 0), 0);
  const status = parseText(structuredContent["status"], 20);
  const problems = parseEntries(structuredContent["problems"]);
  const credits = parseFields(structuredContent["credits"]);
  const isLimit = parseFields(problems[0])["code"] === "max_credits_reached";
  const limit = isLimit ? formatCredits(credits["suggested_max"]).map((most) => `, for at most ${most}`) : "";
  const goOn = status === "stopped" ? ` Ask for the rest: “Go on with this narration${limit}.”` : "";
  const message = `${parseText(structuredContent["message"]) || messageForPeople}${goOn}`;
  return {
    kind: "narration",
    id: narrationId,
    title,
    status,
    message,
    isError,
    facts: [
      ...(audioFiles[0] === undefined ? [] : [audioFiles[0].format, formatClock(seconds)]),
      // Omit the credits while the narration is being made, because its message states the cost so far.
      ...(audioFiles[0] === undefined ? [] : formatCredits(credits["charged"])),
    ],
    take: null,
    audioFiles,
    parts: total === null ? null : { saved: parseNumber(parts["saved"], total) ?? 0, total },
    // If parts have problems, the message stays visible after the sound is open.
    note: problems.length > 0 ? message : "",
  };
}

/**
 * Finds the id in the text of a result, because some hosts pass on only the text. It begins with a narration's id, or
 * its first line ends with a task's. Titles, names and texts in between may quote other ids.
 */
const ID_IN_TEXT = /^(?:(nar_[0-9a-f]{32}): |.*\btask_id (\S+))/;

/** Converts the result of any tool. A result without a task or narration is shown as text. */
export function parseShownResult(result: Fields): ShownResult {
  const structuredContent = parseFields(result["structuredContent"]);
  const isError = result["isError"] === true;
  const resultText = parseResultText(result);
  // Omit the next step, because it is for the assistant.
  const messageForPeople = resultText.replace(/\nNext: .*/s, "").slice(0, 1200);
  const [, narrationInText, inText] = ID_IN_TEXT.exec(resultText) ?? [];
  const narrationId = parseId(structuredContent["narration_id"]) || (isError ? "" : parseId(narrationInText));
  const title = parseText(parseFields(result["_meta"])["title"], 200);
  if (narrationId !== "")
    return parseNarration(structuredContent, { id: narrationId, title }, messageForPeople, isError);
  const taskId = parseId(structuredContent["task_id"]) || (isError ? "" : parseId(inText));
  if (taskId !== "") return parseTask(structuredContent, taskId, messageForPeople, isError);
  return {
    kind: "text",
    id: "",
    title: "",
    status: "",
    message: resultText.slice(0, 1200),
    isError,
    facts: [],
    take: null,
    audioFiles: [],
    parts: null,
    note: "",
  };
}
