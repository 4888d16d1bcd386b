/** Drives `narrate` against a fake service, with texts whose parts are known. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { RESERVED_CREDITS } from "../../src/contract/billing.ts";
import { FAST } from "../support/bin-under-test.ts";
import { openAll, openEach } from "../support/e2e-setup.ts";
import { FakeService, type FakeServiceOptions } from "../support/fake-service.ts";
import { createTestFolders, type TestFolders } from "../support/test-folders.ts";
import { startToolClient, type ToolClient } from "../support/tool-client.ts";
import type { ToolOutcome } from "../support/tool-result.ts";

/** The published form of a result. Unknown fields are refused. A field without a value is absent, not `null`. */
export const narrationOutput = z.strictObject({
  narration_id: z.string().regex(/^nar_[0-9a-f]{32}$/),
  status: z.enum(["planned", "running", "stopped", "finished"]),
  message: z.string().min(1),
  parts: z.strictObject({
    total: z.int(),
    saved: z.int(),
    running: z.int(),
    failed: z.int(),
    already_paid: z.int(),
  }),
  credits: z.strictObject({
    estimate: z.int(),
    charged: z.int(),
    reserved: z.int(),
    max: z.int().optional(),
    /** Absent while it runs, and once it is finished. */
    suggested_max: z.int().default(0),
  }),
  seconds: z.strictObject({ estimate: z.number(), saved: z.number(), left: z.number().optional() }),
  chapters: z
    .array(
      z.strictObject({
        /** Absent for a heading without a number in a text whose other headings have numbers. */
        number: z.int().optional(),
        title: z.string().optional(),
        seconds: z.int(),
        credits: z.int(),
      }),
    )
    .optional(),
  files: z.array(
    z.strictObject({
      /** The row number in a sheet, whose header is row 1. */
      row: z.int().optional(),
      path: z.string(),
      duration_seconds: z.number(),
      size_bytes: z.int(),
      /** Absent from the files of a sheet, of which there may be a thousand. */
      sha256: z.string().length(64).optional(),
      chapter: z.string().optional(),
      captions_path: z.string().optional(),
      srt_path: z.string().optional(),
      chapters_path: z.string().optional(),
    }),
  ),
  problems: z.array(
    z.strictObject({
      part: z.int().optional(),
      excerpt: z.string().optional(),
      code: z.string(),
      message: z.string(),
    }),
  ),
  next_step: z.string().min(1),
});
export type NarrationOutput = z.infer<typeof narrationOutput>;

export function narrationOf(outcome: ToolOutcome): NarrationOutput {
  if (outcome.isError === true) throw new Error(`an error came back: ${outcome.content[0]?.text}`);
  return narrationOutput.parse(outcome.structuredContent);
}

/** Returns a paragraph of about 85 estimated seconds, so that each paragraph is a part. */
export function paragraph(name: string): string {
  return `${name} begins here. ${"The river ran past the old mill and on to the sea. ".repeat(24)}So ends ${name}.`;
}

/** @param names of the paragraphs, one part each */
export const buildText = (...names: readonly string[]): string => names.map(paragraph).join("\n\n");

/** The size of the raw sound that the service delivers for each part: 4 s at 24,000 Hz. */
export const PART_BYTES = 4 * 24_000 * 2;

export class Narrator {
  service: FakeService;
  testFolders: TestFolders;
  client: ToolClient;
  readonly #connect: typeof startToolClient;

  private constructor(
    service: FakeService,
    testFolders: TestFolders,
    client: ToolClient,
    connect: typeof startToolClient,
  ) {
    this.service = service;
    this.testFolders = testFolders;
    this.client = client;
    this.#connect = connect;
  }

  /** @param connect `startBinClient` if the server needs a process of its own */
  static async start(
    more: Record<string, string> = {},
    options: FakeServiceOptions = {},
    connect = startToolClient,
  ): Promise<Narrator> {
    const service = await FakeService.start({
      ...options,
      audioBytes: PART_BYTES,
      audioSeconds: 4,
      hasDistinctSounds: true,
    });
    const testFolders = await createTestFolders();
    const client = await connect(testFolders.env(service, { ...FAST, ...more }));
    return new Narrator(service, testFolders, client, connect);
  }

  /** Requests raw sound, so that every byte of the joined file is known. */
  async narrate(args: Record<string, unknown>): Promise<NarrationOutput> {
    const pcm = args["narration_id"] === undefined ? { output_format: "pcm" } : {};
    return narrationOf(await this.client.call("narrate", { ...pcm, ...args }));
  }

  /** Plans a text. A limit below the suggested one is given once, because only its next call starts the narration. */
  async planWithin(max_credits: number, args: Record<string, unknown>): Promise<NarrationOutput> {
    const plan = await this.narrate(args);
    const { total } = plan.parts;
    // What is likely to suffice for parts of about one length is not asked about.
    if (max_credits >= (plan.credits.estimate * (total - 1)) / total + RESERVED_CREDITS) return plan;
    return await this.narrate({ narration_id: plan.narration_id, max_credits });
  }

  /** Makes the service refuse every submission from the given one on; the first has the number 1. */
  refuseSubmissionsFrom(ordinal: number, status: number, code: string): void {
    this.service.intercept = (exchange, response, self) => {
      if (exchange.kind !== "create" || exchange.ordinal < ordinal) return false;
      self.refuse(response, status, code);
      return true;
    };
  }

  /** Makes the task of one paragraph of {@link buildText} fail. */
  failPart(name: string): void {
    this.service.intercept = ({ kind, taskId }, _response, self) => {
      const task = self.tasks.get(taskId ?? "");
      if (kind === "query" && task?.body.includes(`${name} begins`) === true) task.status = "failed";
      return false;
    };
  }

  async restart(more: Record<string, string> = {}): Promise<void> {
    await this.client.close();
    this.client = await this.#connect(this.testFolders.env(this.service, { ...FAST, ...more }));
  }

  /** Makes a folder of texts, lets the server read from it, and returns its path. */
  async openTexts(): Promise<string> {
    const folder = join(this.testFolders.root, "texts");
    mkdirSync(folder);
    await this.restart({ AUDIO_INPUT_DIR: folder });
    return folder;
  }

  /** Takes a new service, new folders and a new client in place of the present ones. */
  async reopen(...options: Parameters<typeof Narrator.start>): Promise<void> {
    await this.stop();
    ({
      service: this.service,
      testFolders: this.testFolders,
      client: this.client,
    } = await Narrator.start(...options));
  }

  async stop(): Promise<void> {
    await this.client.close();
    await this.service.stop();
    await this.testFolders.remove();
  }
}

type NarratorOptions = Parameters<typeof Narrator.start>;

/** Opens a narrator before each test of a file, and stops it afterwards. */
export const openNarratorEach = (...options: NarratorOptions): Narrator =>
  openEach(
    () => Narrator.start(...options),
    (narrator) => narrator.stop(),
  );

/** Opens one narrator before all tests of a file, and stops it afterwards. */
export const openNarratorAll = (...options: NarratorOptions): Narrator =>
  openAll(
    () => Narrator.start(...options),
    (narrator) => narrator.stop(),
  );
