/**
 * Fills in every file of a publication from `publisher.json` and the version. Running it twice changes nothing
 * more.
 */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { ROOT, updatePublicationFiles } from "./publication-files.ts";

const written = updatePublicationFiles();
if (written.length > 0) {
  const biome = join(ROOT, "node_modules/@biomejs/biome/bin/biome");
  execFileSync(process.execPath, [biome, "format", "--write", "--no-errors-on-unmatched", ...written], {
    cwd: ROOT,
    stdio: "ignore",
  });
}
console.log(written.length === 0 ? "All files are in step." : `Filled in: ${written.join(", ")}.`);
