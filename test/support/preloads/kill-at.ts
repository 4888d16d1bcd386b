/**
 * Preloaded into the server: dies by SIGKILL just before or just after one call of the file system, which
 * TEST_KILL_AT names.
 */
import promises from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { z } from "zod";

const { call, from, to, when } = z
  .strictObject({
    /** A function of node:fs/promises. */
    call: z.enum(["link", "rename", "unlink"]),
    /** The end of the path of the call, and of its second path if it takes two. */
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
