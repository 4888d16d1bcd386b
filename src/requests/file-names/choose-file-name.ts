/** Decides the name under which the audio of a record is saved. If the name is taken, a number is added later. */
import { buildAutomaticName } from "../../files/automatic-name.ts";
import { buildRequestedName } from "../../files/file-name.ts";
import type { RequestRecord } from "../../ledger/record.ts";
import { parseStoredFormat, parseStoredInput } from "../records/stored-input.ts";

/** Returns the full file name for a caller's `file_name`. If the caller gave none, returns an automatic name. */
export function chooseFileName(record: RequestRecord, fileName: string | null): string {
  const { format } = parseStoredFormat(record);
  if (fileName !== null) return buildRequestedName(fileName, format);
  return buildAutomaticName(format, parseStoredInput(record)?.prompt ?? null, record.taskId ?? "task");
}
