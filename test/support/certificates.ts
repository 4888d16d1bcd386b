/** Creates a self-signed certificate that nothing trusts. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface Certificate {
  readonly key: string;
  readonly certificate: string;
  remove(): void;
}

/** Creates the files of a key and its certificate. */
export function selfSigned(subject = "127.0.0.1", altName = "IP:127.0.0.1"): Certificate {
  const folder = mkdtempSync(join(tmpdir(), "agm-certificate-"));
  const key = join(folder, "key.pem");
  const certificate = join(folder, "certificate.pem");
  const kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"];
  const name = ["-subj", `/CN=${subject}`, "-addext", `subjectAltName=${altName}`];
  const files = ["-keyout", key, "-out", certificate];
  execFileSync("openssl", ["req", "-x509", ...kind, ...name, ...files], { stdio: "ignore" });
  return { key, certificate, remove: () => rmSync(folder, { recursive: true }) };
}
