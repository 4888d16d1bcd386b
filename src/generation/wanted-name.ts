/** Decides the name under which the audio of a record is saved. If the name is taken, a number is added later. */
import { automaticName } from "../files/automatic-name.ts";
import { givenName } from "../files/file-name.ts";
import type { TaskRecord } from "../ledger/record.ts";
import { storedFormat, storedInput } from "./stored-input.ts";

/** Returns the full file name for a caller's `file_name`. If the caller gave none, returns an automatic name. */
export function wantedName(record: TaskRecord, fileName: string | null): string {
  const { format } = storedFormat(record);
  if (fileName !== null) return givenName(fileName, format);
  return automaticName(format, storedInput(record)?.prompt ?? null, record.taskId ?? "task");
}
