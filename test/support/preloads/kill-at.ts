/**
 * Preloaded into the server: kills the process by SIGKILL just before or just after the call of the file system that
 * TEST_KILL_AT names.
 */
import promises from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { z } from "zod";

const { call, from, to, when } = z
  .strictObject({
    /** A function of node:fs/promises. */
    call: z.enum(["link", "rename", "unlink"]),
    /** The end of the call's first path. `to` is the end of its second path. */
    from: z.string(),
    to: z.string().optional(),
    when: z.enum(["before", "after"]),
  })
  .parse(JSON.parse(process.env["TEST_KILL_AT"] ?? "{}"));

const original: unknown = Reflect.get(promises, call);
if (typeof original !== "function") throw new Error(`there is no ${call}`);

const isMeant = (args: readonly unknown[]): boolean =>
  String(args[0]).endsWith(from) && (to === undefined || String(args[1]).endsWith(to));

Reflect.set(promises, call, async (...args: unknown[]): Promise<unknown> => {
  const isHere = isMeant(args);
  if (isHere && when === "before") process.kill(process.pid, "SIGKILL");
  const result: unknown = await Reflect.apply(original, promises, args);
  if (isHere && when === "after") process.kill(process.pid, "SIGKILL");
  return result;
});
syncBuiltinESMExports();
