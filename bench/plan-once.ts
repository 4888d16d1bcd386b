/** Plans a novel of so many characters once, as the first thing of its process; started by path, prints the milliseconds. */
import { novel, plan } from "./novel.ts";

const [characters = "0", format = "plain"] = process.argv.slice(2);
const text = novel(Number(characters));
const beganAtMs = performance.now();
plan(text, format === "markdown" ? "markdown" : "plain");
process.stdout.write(String(performance.now() - beganAtMs));
