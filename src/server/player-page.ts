/** The player as one HTML page. The build replaces this module with the page's text. */

/**
 * Returns the page.
 *
 * @throws when run from the sources, which have no built page
 */
export function readPlayerPage(): string {
  throw new Error("the player's page is made by the build");
}
