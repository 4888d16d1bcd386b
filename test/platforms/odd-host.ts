/** A host that loads the server into its own process, as Electron's utility processes do: its stdin keeps nothing alive, and the entry's path stays in argv. */
import { pathToFileURL } from "node:url";

process.stdin.unref();
const [, , entry = ""] = process.argv;
await import(pathToFileURL(entry).href);
