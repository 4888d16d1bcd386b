/** Shows what the server does, on its own sandbox: a short text, or with `--long` a whole chapter. */
import { parseArgs } from "node:util";

const { values } = parseArgs({ options: { long: { type: "boolean" } } });
await import(values.long === true ? "./demo-long.ts" : "./demo-short.ts");
