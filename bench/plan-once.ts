/** Plans a novel of so many characters once, as the first thing of its process, or has the library alone read it; started by path, prints the milliseconds. */
import { Lexer } from "marked";
import { novel, plan } from "./novel.ts";

const [characters = "0", work = "plain"] = process.argv.slice(2);
const text = novel(Number(characters));
const beganAtMs = performance.now();
if (work === "library") new Lexer().lex(text);
else plan(text, work === "markdown" ? "markdown" : "plain");
process.stdout.write(String(performance.now() - beganAtMs));
