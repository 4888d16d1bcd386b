/**
 * Preloaded into the server: makes calls of the file system fail with the codes that TEST_FS_FAULTS names, like those
 * of other platforms.
 */
import fs from "node:fs";
import promises from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { z } from "zod";

const faults = z
  .array(
    z.strictObject({
      /** The function that fails, such as `promises.link`, `fs.linkSync` or `handle.sync`. */
      call: z.string(),
      /** The error code. With `STUCK`, the call blocks a thread for ever, like a disk that no longer answers. */
      code: z.string(),
      /** How many calls fail, beginning with the first. If absent, all calls fail. */
      times: z.int().optional(),
      /** If present, only calls whose path contains this text fail. */
      path: z.string().optional(),
    }),
  )
  .parse(JSON.parse(process.env["TEST_FS_FAULTS"] ?? "[]"));

const openFile = promises.open;
const handle = await promises.open(import.meta.filename);
const owners: Record<string, object> = { promises, fs, handle: Object.getPrototypeOf(handle) };
await handle.close();

function failure(code: string, name: string, path: unknown): Error {
  const syscall = name.replace(/Sync$/, "");
  const message = `${code}: as a test would have it, ${syscall} '${String(path)}'`;
  // An error that Node itself raises does not name a system call.
  return Object.assign(new Error(message), code.startsWith("ERR_") ? { code } : { code, syscall, path });
}

for (const { call, code, times, path } of faults) {
  const [ownerName = "", name = ""] = call.split(".");
  const owner = owners[ownerName];
  const original: unknown = owner === undefined ? undefined : Reflect.get(owner, name);
  if (owner === undefined || typeof original !== "function") throw new Error(`there is no ${call}`);
  let remaining = times ?? Number.POSITIVE_INFINITY;
  const faulty = function (this: unknown, ...args: unknown[]): unknown {
    if (remaining <= 0 || (path !== undefined && !args.some((arg) => String(arg).includes(path)))) {
      return Reflect.apply(original, this, args);
    }
    remaining -= 1;
    const error = failure(code, name, args[0]);
    // Opening the pipe never ends, because nobody opens it for writing.
    if (code === "STUCK") return openFile(process.env["TEST_PIPE"] ?? "");
    if (ownerName === "fs") throw error;
    return Promise.reject(error);
  };
  Reflect.set(owner, name, Object.assign(faulty, original));
}
syncBuiltinESMExports();
