/** Builds the player's one page: its script bundled, its styles inlined, nothing left to load. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { deflateRawSync } from "node:zlib";
import { build } from "rolldown";

const FOLDER = join(import.meta.dirname, "..", "src", "player");

/** What a host has to carry for each result, so it stays small. */
const MOST_BYTES = 20 * 1024;

const smallCss = (css: string): string =>
  css
    .replace(/\/\*.*?\*\//gs, "")
    .replace(/\s+/g, " ")
    .replace(/ ?([{};:,>]) ?/g, "$1")
    .replaceAll(";}", "}")
    .trim();

/** In front of the script, so that nothing is seen without them. */
const styling = (css: string): string =>
  `{const e=document.createElement("style");e.nonce=document.currentScript.nonce;e.textContent=${JSON.stringify(css)};document.head.append(e)}`;

/** Five letters for four bytes, where base64 needs five and a third; none that a script or HTML takes for its own. */
function lettersOf(bytes: Buffer): string {
  const padded = Buffer.concat([bytes, Buffer.alloc(3)]);
  let letters = "";
  for (let at = 0; at < bytes.length; at += 4) {
    let value = padded.readUInt32BE(at);
    let group = "";
    for (let place = 0; place < 5; place += 1) {
      group = String.fromCharCode(40 + (value % 85)) + group;
      value = Math.floor(value / 85);
    }
    letters += group;
  }
  return letters.replaceAll("<", "!").replaceAll("\\", "#");
}

/**
 * Script and styles travel deflated, for they are what the page's size is made of. They become an element of their own,
 * with the nonce of the one that unpacks them: a content policy that lets inline scripts in lets it in, and `eval` is
 * not needed.
 */
const unpacking = (code: string): string => {
  const packed = deflateRawSync(code, { level: 9 });
  return `(async s=>{try{const a=[];"${lettersOf(packed)}".replace(/.{5}/g,g=>{let n=0;for(const c of g)n=n*85+(c=="!"?20:c=="#"?52:c.charCodeAt()-40);a.push(n>>>24,n>>16,n>>8,n)});const b=new Blob([new Uint8Array(a).slice(0,${packed.length})]),e=document.createElement("script");e.nonce=s.nonce;e.textContent=await new Response(b.stream().pipeThrough(new DecompressionStream("deflate-raw"))).text();document.body.append(e)}catch{document.getElementById("say").textContent="This browser is too old for the player; the text of the answer says where the file is."}})(document.currentScript)`;
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
  if (/<\/script|<!--/i.test(code)) throw new Error("the player's script would end its own element");
  const [page, css] = await Promise.all([
    readFile(join(FOLDER, "page.html"), "utf8"),
    readFile(join(FOLDER, "page.css"), "utf8"),
  ]);
  const html = page
    .replace("/* main.ts */", () => unpacking(`${styling(smallCss(css))}${code.trim()}`))
    .replace(/>\n+</g, "><");
  const bytes = Buffer.byteLength(html);
  if (bytes > MOST_BYTES) throw new Error(`the player has ${bytes} bytes, and may have ${MOST_BYTES}`);
  return html;
}
