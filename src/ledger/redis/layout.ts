/** Lets nobody use a store that is laid out otherwise. */
import { z } from "zod";
import { AudioError } from "../../errors.ts";
import { VERSION_KEY } from "./redis-keys.ts";
import type { RedisLink } from "./redis-link.ts";

/** Grows with every change of keys or scripts that another version would misread. */
const LAYOUT_VERSION = 2;

/** Marks what nobody has laid out yet. @throws AudioError `store_unavailable` for another layout */
export async function checkLayout(link: RedisLink): Promise<void> {
  await link.send(VERSION_KEY, ["SET", VERSION_KEY, String(LAYOUT_VERSION), "NX"]);
  const found = z.coerce.number().parse(await link.send(VERSION_KEY, ["GET", VERSION_KEY]));
  if (found === LAYOUT_VERSION) return;
  throw new AudioError(
    "store_unavailable",
    "The shared store was written by another version of this program.",
    {
      remedy: "Use the same version on all machines, or set AUDIO_STORE_URL to another database.",
    },
  );
}
