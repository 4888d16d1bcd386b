/**
 * Stands in the bundle for `@modelcontextprotocol/server/_shims`, whose Node version loads Ajv (120 kB, a fifth of a
 * start). The SDK validates with it only where a server calls `elicitInput`; ours asks by `inputRequired` and parses the
 * answer itself.
 */
export { default as process } from "node:process";

export class DefaultJsonSchemaValidator {
  getValidator(): never {
    throw new Error("Ajv is not in the bundle: see scripts/sdk-without-ajv.ts");
  }
}
