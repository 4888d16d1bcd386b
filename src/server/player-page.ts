/** The player as one HTML page. The build puts the page in this module's place, so that it is a text of the bundle. */

/** @throws in the sources, which hold no built page */
export function playerPage(): string {
  throw new Error("the player's page is made by the build");
}
