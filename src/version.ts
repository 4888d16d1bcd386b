/** The program's version from package.json. The build replaces the import by the version itself. */
import manifest from "../package.json" with { type: "json" };

export const VERSION: string = manifest.version;
