/** Builds the player's one page: its script bundled and compressed, its styles inlined, nothing left to load. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "rolldown";

const FOLDER = join(import.meta.dirname, "..", "src", "player");

/** What a host has to carry for each result, so it stays small. */
const MAX_BYTES = 30 * 1024;

/**
 * The script travels compressed, because it is most of the page. The unpacked text becomes an element of its own, with
 * the nonce of the one that unpacks it: a content policy that lets inline scripts in lets it in, and `eval` is not
 * needed.
 */
const unpacking = (code: string): string => {
  const packed = gzipSync(code, { level: 9 }).toString("base64");
  return `(async s=>{try{const b=new Blob([Uint8Array.from(atob("${packed}"),c=>c.charCodeAt())]),e=document.createElement("script");e.nonce=s.nonce;e.textContent=await new Response(b.stream().pipeThrough(new DecompressionStream("gzip"))).text();document.body.append(e)}catch{document.getElementById("say").textContent="This browser is too old for the player; the text of the answer says where the file is."}})(document.currentScript)`;
};

/** @throws where it has become larger than it may be */
export async function playerPage(): Promise<string> {
  const { output } = await build({
    input: join(FOLDER, "main.ts"),
    platform: "browser",
    transform: { target: "es2022" },
    write: false,
    output: { format: "iife", minify: true },
  });
  const [{ code }] = output;
  const [page, css] = await Promise.all([
    readFile(join(FOLDER, "page.html"), "utf8"),
    readFile(join(FOLDER, "page.css"), "utf8"),
  ]);
  const html = page.replace("/* page.css */", () => css).replace("/* main.ts */", () => unpacking(code));
  const bytes = Buffer.byteLength(html);
  if (bytes > MAX_BYTES) throw new Error(`the player has ${bytes} bytes, and may have ${MAX_BYTES}`);
  return html;
}
