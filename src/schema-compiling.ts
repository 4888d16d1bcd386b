/**
 * Whether zod compiles the parsers of the schemas that are made from now on. A start makes some twenty, and has each
 * parse one message or setting: compiling them would take longer than that. Imported before any schema is made.
 */
import { config } from "zod";

config({ jitless: true });

/** From here on messages and records come by the thousand. */
export function compileSchemas(): void {
  config({ jitless: false });
}
