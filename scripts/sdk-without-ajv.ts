/**
 * Replaces `@modelcontextprotocol/server/_shims` in the bundle, because the module's version for Node loads Ajv
 * (120 kB, a fifth of the start). The SDK validates with Ajv only if a server calls `elicitInput`. Our server asks
 * with `inputRequired` and parses the answer itself.
 */
export { default as process } from "node:process";

export class DefaultJsonSchemaValidator {
  getValidator(): never {
    throw new Error("Ajv is not in the bundle: see scripts/sdk-without-ajv.ts");
  }
}
