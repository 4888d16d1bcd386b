/**
 * Keeps account of a mixed round from outside: what was allowed, what the service made, and what answers have said. Finds
 * what was paid twice, over a limit or for nobody, and false figures.
 */
import { readFile } from "node:fs/promises";
import { z } from "zod";
import { RESERVED_CREDITS } from "../../../src/contract/billing.ts";
import { deriveIdempotencyKey } from "../../../src/ledger/identity.ts";
import { chargeOf } from "../../support/compare-statements.ts";
import type { FakeService, FakeTask } from "../../support/fake-service.ts";
import type { LedgerAttempt } from "../../support/ledger-rows.ts";
import { type NarrationOutput, PART_BYTES } from "../narrator.ts";
import { editOf, partText } from "./draw-steps.ts";

const PAUSE_BYTES = 0.6 * 24_000 * 2;

/** A narration as calls know it. */
export interface Story {
  readonly label: string;
  /** The names of its parts. */
  readonly parts: readonly string[];
  readonly texts: readonly string[];
  /** The arguments that make it of another narration; `null` for a text. */
  readonly base: Record<string, unknown> | null;
  id: string | null;
  /** The limit of the last answered call, or what was charged and reserved by then if that is more. */
  confirmed: number;
  /** The limits of calls without an answer, or answered as MCP tasks. */
  unconfirmed: number[];
  /** The narration as which a retyped text was asked for. */
  readonly askedAs: Story | null;
  /** Whether the last answer said that it goes on. */
  isPromised: boolean;
  /** Whether a call has started it, and no answer has said that it ended. */
  isStarted: boolean;
  isKnown: boolean;
}

/** A new submission, with what was allowed and what earlier tasks cost at that time. */
interface Submission {
  readonly apiKey: string;
  readonly committed: ReadonlyMap<string, number>;
  readonly allowed: ReadonlyMap<Story, number>;
}

/** What an answer has said of a narration. */
interface Said {
  readonly id: string;
  readonly charged: number;
  readonly reserved: number;
  readonly startedAtMs: number;
  readonly atMs: number;
}

const saidOfNarration = z.looseObject({
  narration_id: z.string(),
  message: z.string(),
  credits: z.looseObject({ charged: z.number(), reserved: z.number() }),
});
const saidOfTask = z.looseObject({
  task_id: z.string(),
  replayed: z.boolean(),
  billing: z.looseObject({ charged_credits: z.number() }),
});

const allowedFor = ({ confirmed, unconfirmed, askedAs }: Story): number =>
  Math.max(confirmed, ...unconfirmed, ...(askedAs?.unconfirmed ?? []));

const promptOf = ({ body }: FakeTask): string => String(Object(JSON.parse(body)).prompt);
const MAX_TAKE = 3;
const MAX_ATTEMPTS = 30;

/** The take of a task, by its key. */
function takeOf({ key, body }: FakeTask): number | undefined {
  for (let n = 1; n <= MAX_ATTEMPTS; n += 1)
    for (let take = 1; take <= MAX_TAKE; take += 1)
      if (deriveIdempotencyKey(body, take, n) === key) return take;
  return undefined;
}

const withoutTyping = (text: string): string =>
  text.normalize("NFKC").replace(/["“”]/gu, "").replace(/\s+/gu, " ");
const withoutCase = (text: string): string => withoutTyping(text).toLowerCase();

export class Accounts {
  readonly stories: Story[] = [];
  readonly #service: FakeService;
  /** The last submission under each key before the service accepted it, because others were refused. */
  readonly #submissions = new Map<string, Submission>();
  readonly #said: Said[] = [];
  readonly #charges: { readonly taskId: string; readonly credits: number; readonly isOfCall: boolean }[] = [];
  /** Texts of direct calls, with their takes. */
  readonly #direct = new Set<string>();
  /** When each text was first asked for, as it was typed. */
  readonly #askedAtMs = new Map<string, number>();
  /** Whether an answer has said that a retyped text would be paid again. */
  #isToldOfTyping = false;

  constructor(service: FakeService) {
    this.#service = service;
    const { intercept } = service;
    service.intercept = async (exchange, ...more) => {
      const isNew = exchange.kind === "create" && !service.byKey.has(exchange.key ?? "");
      if (isNew) {
        this.#submissions.set(exchange.key ?? "", {
          apiKey: exchange.headers.authorization ?? "",
          committed: new Map([...service.tasks.values()].map((task) => [task.key, this.#costNow(task)])),
          allowed: new Map(this.stories.map((story) => [story, allowedFor(story)])),
        });
      }
      return (await intercept?.(exchange, ...more)) ?? false;
    };
  }

  #endMsOf = ({ acceptedAtMs, status }: FakeTask): number =>
    status === "failed" ? acceptedAtMs : acceptedAtMs + this.#service.processingMs;

  #costNow(task: FakeTask): number {
    if (task.status === "failed") return 0;
    return this.#endMsOf(task) <= performance.now()
      ? chargeOf(this.#service, { ...task, status: "succeeded" })
      : RESERVED_CREDITS;
  }

  open(label: string, parts: readonly string[], base: Story["base"] = null): Story {
    const known = this.stories.find((story) => story.label === label);
    if (known !== undefined) return known;
    const edit = label.endsWith(" edited")
      ? editOf(label.split(", ")[1]?.replace(" edited", "") ?? "")
      : null;
    const texts = parts
      .map(partText)
      .map((text) => (edit === null ? text : text.replace(edit.quote, edit.replacement)));
    const story: Story = {
      ...{ label, parts, texts, base, id: null, confirmed: 0, unconfirmed: [] },
      ...{ askedAs: null, isPromised: false, isStarted: false, isKnown: false },
    };
    this.stories.push(story);
    return story;
  }

  /** Notes the limit of a call. Returns the limit before it. */
  allow(story: Story, credits: number): number {
    story.unconfirmed.push(credits);
    story.isStarted = true;
    for (const text of story.texts) this.#noteAsked(text);
    return story.confirmed;
  }

  #noteAsked(text: string): void {
    if (!this.#askedAtMs.has(text)) this.#askedAtMs.set(text, performance.now());
  }

  allowDirect(prompt: string, take: number): void {
    this.#noteAsked(prompt);
    this.#direct.add(`${take} ${withoutCase(prompt)}`);
  }

  /** Finds the tasks of a text that have not failed. A take counts as it is, unless it is `undefined`. */
  #findTasks(text: string, take: number | undefined): FakeTask[] {
    return [...this.#service.tasks.values()].filter(
      (task) =>
        task.status !== "failed" &&
        withoutCase(promptOf(task)) === withoutCase(text) &&
        (take === undefined || takeOf(task) === take),
    );
  }

  get hasStarted(): boolean {
    return this.stories.some(({ isStarted }) => isStarted);
  }

  /** Finds a part that the service makes now, for a narration that runs if there is one. */
  findRunning(): { readonly story: Story; readonly name: string } | undefined {
    const running = this.stories
      .toSorted((a, b) => Number(b.isStarted) - Number(a.isStarted))
      .flatMap((story) => story.parts.map((name) => ({ story, name })));
    return running.find(({ story, name }) => this.standingOf(story, name, 1).startsWith("is being made"));
  }

  /** Describes how a part stands, to count what direct calls meet. */
  standingOf(story: Story, name: string, take: number): string {
    const [task] = this.#findTasks(partText(name), take);
    const isRunning = story.isStarted ? " of a running narration" : "";
    if (task === undefined) return `is not sent${isRunning}`;
    return this.#endMsOf(task) <= performance.now() ? "is made" : `is being made${isRunning}`;
  }

  /** Notes what any answer says about credits. */
  hear(structured: Record<string, unknown>, startedAtMs: number): void {
    const narration = saidOfNarration.safeParse(structured).data;
    if (narration !== undefined) {
      const { narration_id: id, credits, message } = narration;
      const { charged, reserved } = credits;
      this.#said.push({ id, charged, reserved, startedAtMs, atMs: performance.now() });
      if (message.includes("only in quotation marks")) this.#isToldOfTyping = true;
    }
    const task = saidOfTask.safeParse(structured).data;
    if (task !== undefined) {
      const { task_id: taskId, billing, replayed } = task;
      // While the answer to the other key's send is not recorded, the call cannot know who pays, and says so.
      const isOpen = JSON.stringify(structured).includes("earlier attempt at this under another API key");
      this.#charges.push({ taskId, credits: billing.charged_credits, isOfCall: !replayed && !isOpen });
    }
  }

  /** Notes the limit that applies after an answer, and whether it promised that the narration goes on. */
  noteAnswer(asked: Story, output: NarrationOutput, kind: string, credits: number): NarrationOutput {
    const story = this.#storyOf(asked, output.narration_id);
    const { charged, reserved } = output.credits;
    story.isKnown = true;
    // A stop with a retyped text has planned that text, and has stopped nothing.
    const hasStoppedNothing = kind === "stop" && output.status === "planned";
    if (kind === "stop" && !hasStoppedNothing) story.confirmed = charged + reserved;
    if (kind === "allow" && output.status !== "planned")
      story.confirmed = Math.max(credits, charged + reserved);
    // A plan allows nothing, and what other calls have allowed stays.
    if (output.status === "planned") {
      const at = story.unconfirmed.indexOf(credits);
      if (kind === "allow" && at >= 0) story.unconfirmed.splice(at, 1);
    } else if (kind !== "look") story.unconfirmed = [];
    story.isPromised = output.status === "running";
    story.isStarted = story.isPromised;
    return output;
  }

  /** A retyped text may be a narration of its own. */
  #storyOf(asked: Story, id: string): Story {
    const known = this.stories.find((story) => story.id === id);
    if (known !== undefined) return known;
    asked.id ??= id;
    if (asked.id === id) return asked;
    const own = {
      ...asked,
      label: `${asked.label}, retyped`,
      base: { narration_id: id },
      id,
      confirmed: 0,
      unconfirmed: [...asked.unconfirmed],
      askedAs: asked,
    };
    this.stories.push(own);
    return own;
  }

  /** Returns everything that was paid twice, over a limit or for nobody, and every false figure. */
  compare(attempts: readonly LedgerAttempt[]): string[] {
    const payers = new Map<string, Set<string | null>>();
    for (const { body, take, n, payer, task_id, spent } of attempts) {
      const key = deriveIdempotencyKey(body ?? "", take ?? 1, n);
      if (spent > 0 || task_id !== null) payers.set(key, new Set([...(payers.get(key) ?? []), payer]));
    }
    return [
      ...this.#findDoubles(),
      ...this.#findWrongPayers(payers),
      ...this.#findBrokenLimits(payers),
      ...this.#findFalseFigures(payers),
    ];
  }

  #findDoubles(): string[] {
    const apiKeyOf = ({ key }: FakeTask): string | undefined => this.#submissions.get(key)?.apiKey;
    const made = [...this.#service.tasks.values()].filter(({ status }) => status !== "failed");
    return made.flatMap((later, index) => {
      const prompt = promptOf(later);
      const askedAtMs = this.#askedAtMs.get(prompt) ?? 0;
      return made.slice(0, index).flatMap((earlier) => {
        if (takeOf(earlier) !== takeOf(later)) return [];
        if (earlier.body === later.body) return [`${earlier.id} and ${later.id} are one text, paid twice`];
        // A text that was asked for before the other one was accepted is another text of its own.
        const isRetyped =
          withoutTyping(promptOf(earlier)) === withoutTyping(prompt) &&
          apiKeyOf(earlier) === apiKeyOf(later) &&
          earlier.acceptedAtMs < askedAtMs;
        return isRetyped && !this.#isToldOfTyping
          ? [`${later.id} is ${earlier.id}, typed again and paid twice`]
          : [];
      });
    });
  }

  #findWrongPayers(payers: ReadonlyMap<string, ReadonlySet<string | null>>): string[] {
    return [...this.#service.tasks.values()].flatMap((task) => {
      const all = payers.get(task.key);
      if (all === undefined) return [`the ledger does not know ${task.id}`];
      return [...all].flatMap((payer) => {
        const prompt = promptOf(task);
        if (payer === null)
          return this.#direct.has(`${takeOf(task)} ${withoutCase(prompt)}`)
            ? []
            : [`no call asked for ${task.id}`];
        const story = this.stories.find(({ id }) => id === payer);
        const isOwn =
          story === undefined || story.texts.some((text) => withoutCase(text) === withoutCase(prompt));
        return isOwn ? [] : [`${story.label} pays for ${task.id}, which it does not contain`];
      });
    });
  }

  #findBrokenLimits(payers: ReadonlyMap<string, ReadonlySet<string | null>>): string[] {
    return [...this.#submissions].flatMap(([key, { committed, allowed }]) => {
      // Two API keys may have sent it for two payers; then the payer of this send is unknown.
      const [payer, ...others] = payers.get(key) ?? [];
      const story = this.stories.find(({ id }) => id === payer);
      if (payer == null || story === undefined || others.length > 0) return [];
      let credits = RESERVED_CREDITS;
      for (const [other, cost] of committed) if (payers.get(other)?.has(payer) === true) credits += cost;
      const most = allowed.get(story) ?? allowed.get(story.askedAs ?? story);
      // Sent for somebody else, before this payer was asked for; what this payer has sent has not arrived.
      if (most === undefined) return [];
      return credits <= most
        ? []
        : [`${story.label}: a submission comes to ${credits} credits, allowed were ${most}`];
    });
  }

  #findFalseFigures(payers: ReadonlyMap<string, ReadonlySet<string | null>>): string[] {
    const tasks = [...this.#service.tasks.values()];
    const sum = (some: readonly FakeTask[]): number =>
      some.reduce((total, task) => total + chargeOf(this.#service, task), 0);
    const ofNarrations = this.#said.flatMap(({ id, charged, reserved, startedAtMs, atMs }) => {
      const own = tasks.filter(({ key }) => payers.get(key)?.has(id) === true);
      const most = sum(own.filter((task) => this.#endMsOf(task) <= atMs));
      const least = sum(own.filter(({ acceptedAtMs }) => acceptedAtMs < startedAtMs));
      return charged <= most && charged + reserved >= least
        ? []
        : [`${id} said ${charged} charged and ${reserved} reserved; true is ${least} to ${most}`];
    });
    const ofTasks = this.#charges.flatMap(({ taskId, credits, isOfCall }) => {
      const task = this.#service.tasks.get(taskId);
      const truth = task === undefined ? 0 : chargeOf(this.#service, task);
      const isOnBill = isOfCall && task !== undefined && payers.get(task.key)?.has(null) === false;
      return [
        ...(credits === truth ? [] : [`${taskId} said ${credits} charged; true is ${truth}`]),
        ...(isOnBill ? [`${taskId} was said to be paid by its call, and is on a narration's bill`] : []),
      ];
    });
    return [...ofNarrations, ...ofTasks];
  }

  /** Checks that a file is the story: of the given takes, or of any take of each part. */
  async compareFile(
    story: Story,
    path: string | undefined,
    takes: readonly number[] | null,
    problems: string[],
  ): Promise<void> {
    const bytes = await readFile(path ?? "none").catch(() => Buffer.alloc(0));
    const length = story.parts.length * (PART_BYTES + PAUSE_BYTES) - PAUSE_BYTES;
    if (bytes.length !== length)
      problems.push(`${story.label}: ${bytes.length} bytes instead of ${length} in ${path}`);
    for (const [part, text] of story.texts.entries()) {
      const from = part * (PART_BYTES + PAUSE_BYTES);
      const sound = bytes.subarray(from, from + PART_BYTES);
      const take = takes?.[part];
      if (!this.#findTasks(text, take).some(({ audio }) => audio.equals(sound)))
        problems.push(`${story.label}: part ${part} of ${path} is not take ${take ?? "any"} of its text`);
    }
  }
}
