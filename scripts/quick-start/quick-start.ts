/** What every start loads, made to do without what a start does not need; and of what a first call loads, the same of Node. */
import type { OutputBundle } from "rolldown";
import { withDirectBuiltins } from "./direct-builtins.ts";
import { withLazySchemas } from "./lazy-schemas.ts";

/** What every start loads. */
const CHUNKS = ["main", "environment", "server"];

/** What a first call waits for. */
const FIRST_CALL = ["calls", "contract", "workflow", "sqlite-store", "direct-engine"];

/** Fewer means that the protocol's package is written in another way now, which `lazy-schemas.ts` must follow. */
const LEAST_DEFERRED = 400;

const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;

/**
 * A plugin of the bundler.
 *
 * @throws when it could do hardly anything: a start would quietly be slow again
 */
export function quickStart() {
  return {
    name: "quick-start",
    renderChunk(rendered: string, { name }: { readonly name: string }): string | null {
      if (FIRST_CALL.includes(name)) return withDirectBuiltins(rendered);
      if (!CHUNKS.includes(name)) return null;
      const { code, deferredCount } = withLazySchemas(rendered);
      if (name === "server" && deferredCount < LEAST_DEFERRED)
        throw new Error(
          `Only ${deferredCount} schemas wait for their first use: see scripts/quick-start/lazy-schemas.ts.`,
        );
      return withDirectBuiltins(code);
    },
    /** A single character beyond ASCII doubles the memory of a text, and what reading it takes; in minified code they stand in literals alone. */
    generateBundle(_options: unknown, bundle: OutputBundle): void {
      for (const part of Object.values(bundle)) {
        if (part.type === "chunk" && CHUNKS.includes(part.name))
          part.code = part.code.replace(/[^\0-\x7f]/g, escaped);
      }
    },
  };
}
