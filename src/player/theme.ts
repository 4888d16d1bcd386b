/** Adopts the host's light or dark theme and its style variables, and ignores unsafe values. */
import { type Fields, parseFields } from "./parse-fields.ts";

const prefersDark = matchMedia("(prefers-color-scheme: dark)");

let isThemeGiven = false;

/** Applies the browser's preference until the host states a theme. */
function followBrowser(): void {
  if (!isThemeGiven) document.documentElement.dataset["theme"] = prefersDark.matches ? "dark" : "light";
}
prefersDark.onchange = followBrowser;
followBrowser();

const CSS_VARIABLE = /^--(?:color|font|border|shadow)-[a-z0-9-]{1,60}$/;

/** Matches allowed values. Excludes functions that load a file (`url()`, `image()`) or read the page (`attr()`). */
const CSS_VALUE = /^(?!.*(?:url|image|src|attr|element)\s*\()[\w\s#%.,()/+*'"-]{1,200}$/i;

/**
 * Applies the theme and the style variables of the host's context to the page. Leaves unchanged what the context does
 * not state.
 */
export function applyTheme(context: Fields): void {
  const root = document.documentElement;
  const { theme } = context;
  if (theme === "light" || theme === "dark") {
    isThemeGiven = true;
    root.dataset["theme"] = theme;
    // Set the colour scheme only if the host states a theme, because browsers give a frame an opaque background if its
    // colour scheme differs from that of the host.
    root.style.colorScheme = theme;
  }
  for (const [name, value] of Object.entries(parseFields(parseFields(context["styles"])["variables"])).slice(
    0,
    200,
  )) {
    if (CSS_VARIABLE.test(name) && typeof value === "string" && value.length <= 200 && CSS_VALUE.test(value))
      root.style.setProperty(name, value);
  }
}
