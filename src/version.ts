/** The program's version from package.json; inlined by the build. */
import manifest from "../package.json" with { type: "json" };

export const VERSION: string = manifest.version;
