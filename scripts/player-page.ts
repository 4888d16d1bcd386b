/**
 * Builds the player as one page: with the compressed script and the styles inside, so that nothing is left to
 * load.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { build } from "rolldown";

const FOLDER = join(import.meta.dirname, "..", "src", "player");

/** Maximum size of the page. A host transfers the page for each result, so it must be small. */
const MAX_BYTES = 30 * 1024;

/**
 * Returns a script that unpacks and runs the page's script. The script is compressed, because it is most of the
 * page. The unpacked text becomes a script element with the same nonce, so a content policy that allows inline
 * scripts allows it, and `eval` is not needed.
 */
const unpacking = (code: string): string => {
  const packed = gzipSync(code, { level: 9 }).toString("base64");
  return `(async s=>{try{const b=new Blob([Uint8Array.from(atob("${packed}"),c=>c.charCodeAt())]),e=document.createElement("script");e.nonce=s.nonce;e.textContent=await new Response(b.stream().pipeThrough(new DecompressionStream("gzip"))).text();document.body.append(e)}catch{document.getElementById("say").textContent="This browser is too old for the player; the text of the answer says where the file is."}})(document.currentScript)`;
};

/**
 * Builds the page.
 *
 * @throws if the page is too large
 */
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
