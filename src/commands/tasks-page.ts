/**
 * Renders the ledger as a web page: requests, dates, costs, and players for the files. The page has no script and
 * loads only audio files of this machine.
 */
import { pathToFileURL } from "node:url";

/** What a request was charged, and the voice that spoke it. */
export interface Charge {
  readonly fingerprint: string;
  readonly voice: string;
  readonly credits: number;
}

/** A request or a narration on the page. */
export interface PageEntry {
  readonly description: string;
  /** Local date and time with offset, in ISO 8601. */
  readonly dateTime: string;
  readonly status: string;
  /** Charged credits; `null` if nothing was charged yet or the charge is unknown. */
  readonly credits: number | null;
  /** The totals include a request once, even if several entries share it. */
  readonly charges: readonly Charge[];
  readonly seconds: number | null;
  /** A description of the voice; empty for a narration, which may have several. */
  readonly voice: string;
  readonly take: number;
  readonly id: string;
  readonly paths: readonly string[];
  readonly missingPaths: readonly string[];
  /** The next step, shown if nothing is saved. */
  readonly next: string;
}

/** A file that starts with this marker was written by this program, so it may be overwritten. */
export const TASKS_MARKER = "<!doctype html><!-- audio-generation-mcp tasks -->";
export const VOICES_MARKER = "<!doctype html><!-- audio-generation-mcp voices -->";

interface PageOptions {
  readonly marker?: string;
  readonly title?: string;
  /** Whether there are older requests that are not among the entries. */
  readonly hasOlder?: boolean;
  /** What the entries are, in one sentence; absent for requests, which are counted with their credits. */
  readonly summary?: string;
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

/** Escapes text for elements and quoted attributes. */
const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (letter) => ENTITIES[letter] ?? letter);

/** Isolates untrusted text, so that its bidirectional characters do not affect other text. */
const isolateDirection = (text: string): string => `<bdi>${escapeHtml(text)}</bdi>`;

const PAGE_STYLES = `:root{color-scheme:light dark;--ink:light-dark(#1d1c1a,#f1efea);--dim:light-dark(#5d5a54,#b3aea4);--line:light-dark(#dedbd3,#45423c);--bar:light-dark(#b4532a,#ec9a6d)}
body{margin:0 auto;max-width:60rem;padding:1.5rem 1rem 4rem;font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:light-dark(#fff,#201f1d)}
h1{font-size:1.4rem}h2{font-size:1rem;margin:0 0 .5rem}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(17rem,1fr));gap:2rem;margin:1.5rem 0 2rem}
.charts dl{display:grid;grid-template-columns:max-content 1fr max-content;gap:.25rem .75rem;margin:0;font-size:.85rem;align-items:center}
.charts dt,.charts dd{margin:0}.charts dt{max-width:11rem;overflow-wrap:anywhere}.charts svg{width:100%;height:.8rem;display:block}rect{fill:var(--bar)}
article{border-top:1px solid var(--line);padding:1rem 0}
article p{margin:.2rem 0;overflow-wrap:anywhere}.facts{color:var(--dim);font-size:.85rem}audio{width:100%;max-width:30rem;margin-top:.4rem;display:block}
code{font-size:.8rem}`;

/** Allows the page to load audio files of this machine, and nothing else. */
const CONTENT_SECURITY_POLICY = "default-src 'none'; style-src 'unsafe-inline'; media-src file:";

/** Renders sums as bars with their figures. */
function renderChart(title: string, sums: ReadonlyMap<string, number>): string {
  const max = Math.max(1, ...sums.values());
  const rows = [...sums].map(([name, credits]) => {
    const bar = `<svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><rect width="${((100 * credits) / max).toFixed(1)}" height="8" rx="1"/></svg>`;
    return `<dt>${escapeHtml(name)}</dt><dd>${bar}</dd><dd>${credits} credits</dd>`;
  });
  return `<section><h2>${title}</h2><dl>${rows.join("\n")}</dl></section>`;
}

/** Keeps the first rows, and combines the rest in one row, so that the figures still add up to the total. */
function mergeRest(
  sums: readonly (readonly [string, number])[],
  max: number,
  rest: string,
): Map<string, number> {
  if (sums.length <= max) return new Map(sums);
  const remaining = sums.slice(max);
  const credits = remaining.reduce((sum, [, each]) => sum + each, 0);
  return new Map([...sums.slice(0, max), [`${remaining.length} ${rest}`, credits]]);
}

// Maximum number of rows in each chart.
const MAX_CHART_DAYS = 31;
const MAX_CHART_VOICES = 20;

/**
 * Lists each charge once, with the day of its entry. A request that several entries share is listed with the entry that
 * states the highest charge for it. If several entries state this charge, it is listed with the oldest of them.
 */
function countEachRequestOnce(entries: readonly PageEntry[]): Array<Charge & { readonly day: string }> {
  const byRequest = new Map<string, Charge & { readonly day: string }>();
  for (const { charges, dateTime } of entries.toReversed()) {
    const ofEntry = new Map<string, Charge & { readonly day: string }>();
    for (const charge of charges) {
      const credits = charge.credits + (ofEntry.get(charge.fingerprint)?.credits ?? 0);
      ofEntry.set(charge.fingerprint, { ...charge, credits, day: dateTime.slice(0, 10) });
    }
    for (const [fingerprint, charge] of ofEntry)
      if (charge.credits > (byRequest.get(fingerprint)?.credits ?? 0)) byRequest.set(fingerprint, charge);
  }
  return [...byRequest.values()];
}

function sumBy<Each extends Charge>(
  charges: readonly Each[],
  keyOf: (charge: Each) => string,
): Map<string, number> {
  const sums = new Map<string, number>();
  for (const charge of charges) sums.set(keyOf(charge), (sums.get(keyOf(charge)) ?? 0) + charge.credits);
  return sums;
}

/** Matches files that browsers can play. Raw pcm is not among them. */
const PLAYABLE_EXTENSION = /\.(?:mp3|wav|ogg)$/i;

function buildFileLink(path: string): string {
  const uri = escapeHtml(pathToFileURL(path).href);
  const player = PLAYABLE_EXTENSION.test(path)
    ? `<audio controls preload="none" src="${uri}" aria-label="${escapeHtml(path)}"></audio>`
    : "";
  return `<p><a href="${uri}"><code>${isolateDirection(path)}</code></a></p>${player}`;
}

function renderEntry(entry: PageEntry): string {
  const {
    description: what,
    dateTime,
    status,
    credits,
    seconds,
    voice,
    take,
    id,
    paths,
    missingPaths,
    next,
  } = entry;
  const facts = [
    dateTime.slice(0, 19).replace("T", " "),
    status,
    ...(credits === null ? [] : [`${credits} credits`]),
    ...(seconds === null ? [] : [`${seconds} s`]),
    ...(voice === "" ? [] : [voice]),
    ...(take === 1 ? [] : [`take ${take}`]),
    id,
  ];
  const gone = missingPaths.map(
    (path) => `<p class="facts">File gone: <code>${isolateDirection(path)}</code></p>`,
  );
  const step = paths.length > 0 ? "" : `<p class="facts">Next: ${isolateDirection(next)}</p>`;
  return `<article><p>${isolateDirection(what)}</p><p class="facts">${escapeHtml(facts.join(" · "))}</p>${paths.map(buildFileLink).join("")}${gone.join("")}${step}</article>`;
}

/**
 * Renders the page.
 *
 * @param entries newest first
 */
export function renderAudioPage(
  entries: readonly PageEntry[],
  { marker = TASKS_MARKER, title = "Audio tasks", hasOlder = false, summary }: PageOptions = {},
): string {
  const charges = countEachRequestOnce(entries);
  const days = sumBy(charges, ({ day }) => day);
  const voices = sumBy(charges, ({ voice }) => voice || "not known");
  const newestDays = mergeRest(
    [...days].sort(([one], [other]) => other.localeCompare(one)),
    MAX_CHART_DAYS,
    "earlier days",
  );
  const voicesByCost = mergeRest(
    [...voices].sort(([, a], [, b]) => b - a),
    MAX_CHART_VOICES,
    "other voices",
  );
  const total = [...days.values()].reduce((sum, credits) => sum + credits, 0);
  const charts =
    total === 0
      ? ""
      : `<div class="charts">${renderChart("Cost by day", newestDays)}${renderChart("Cost by voice", voicesByCost)}</div>`;
  const requestCount = entries.filter(({ status }) => !status.startsWith("planned")).length;
  const planCount = entries.length - requestCount;
  const plans =
    planCount === 0
      ? ""
      : ` ${planCount} ${planCount === 1 ? "plan beside them costs" : "plans beside them cost"} nothing.`;
  const count = hasOlder
    ? `The newest ${requestCount} requests, ${total} credits.${plans} Older ones are neither shown nor counted here.`
    : `${requestCount} ${requestCount === 1 ? "request" : "requests"}, ${total} credits.${plans}`;
  return `${marker}
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${CONTENT_SECURITY_POLICY}"><meta name="referrer" content="no-referrer">
<title>${title}</title><style>${PAGE_STYLES}</style></head>
<body><main><h1>${title}</h1><p>${summary ?? (entries.length === 0 ? "No requests recorded yet." : count)}</p>
${charts}
${entries.map(renderEntry).join("\n")}
</main></body></html>
`;
}
