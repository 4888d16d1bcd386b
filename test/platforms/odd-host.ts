/**
 * A host that loads the server into its own process, as Electron's utility processes do. Its stdin does not keep the
 * process alive, and argv contains the path of the entry.
 */
import { pathToFileURL } from "node:url";

process.stdin.unref();
const [, , entry = ""] = process.argv;
await import(pathToFileURL(entry).href);
