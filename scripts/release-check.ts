/** Reports whether this version can be published, and names each thing that is missing. */
import { ROOT, readJson } from "./publication-files.ts";
import { releaseFaults } from "./release-faults.ts";

const { name, version } = readJson("package.json");
const found = releaseFaults(ROOT, process.env);
for (const fault of found) console.error(`✗ ${fault}`);
console.log(found.length === 0 ? `${name} ${version} can be published.` : "Not yet.");
process.exitCode = found.length === 0 ? 0 : 1;
