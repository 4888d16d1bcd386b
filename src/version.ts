/** The program's version, as package.json states it; the build inlines it. */
import manifest from "../package.json" with { type: "json" };

export const VERSION: string = manifest.version;
