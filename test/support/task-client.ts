/**
 * A client of the tasks extension that writes the protocol's messages itself. It checks every answer against the
 * extension's own schemas.
 */
import { createInterface } from "node:readline";
import { CreateTaskResultV2Schema, GetTaskResultV2Schema } from "@modelcontextprotocol/ext-tasks/core/v2";
import { z } from "zod";
import { type LaunchedServer, type LaunchOptions, launchBin, launchServer } from "./launch-server.ts";
import { killHard } from "./processes.ts";

const answer = z.looseObject({
  jsonrpc: z.literal("2.0"),
  id: z.number(),
  result: z.record(z.string(), z.unknown()).optional(),
  error: z.object({ code: z.int(), message: z.string(), data: z.unknown().optional() }).optional(),
});
type Answer = z.infer<typeof answer>;

export const TASKS = { extensions: { "io.modelcontextprotocol/tasks": {} } };

const toolResult = z.looseObject({
  isError: z.boolean().optional(),
  content: z.array(z.looseObject({ type: z.string(), text: z.string().optional() })).min(1),
  structuredContent: z.record(z.string(), z.unknown()).optional(),
});

const callAnswer = z.union([CreateTaskResultV2Schema, toolResult]);
export type TaskNow = z.infer<typeof GetTaskResultV2Schema>;

const envelope = (capabilities: object) => ({
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "task-client", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": capabilities,
});

export class TaskClient {
  readonly #server: LaunchedServer;
  readonly #waiting = new Map<number, (answer: Answer) => void>();
  /** Every message of the server. */
  readonly messages: unknown[] = [];
  #lastId = 0;

  /** @param options `isInProcess` if no process is the point of the test */
  constructor(
    env: Record<string, string>,
    { isInProcess = false, ...options }: LaunchOptions & { readonly isInProcess?: boolean } = {},
  ) {
    this.#server = isInProcess ? launchServer(env, options) : launchBin(env, options);
    createInterface({ input: this.#server.output }).on("line", (line) => {
      const message: unknown = JSON.parse(line);
      this.messages.push(message);
      const known = answer.safeParse(message);
      if (known.success) this.#waiting.get(known.data.id)?.(known.data);
    });
  }

  get pid(): number {
    return this.#server.child.pid ?? 0;
  }

  get exited(): Promise<unknown> {
    return this.#server.exited;
  }

  get lastId(): number {
    return this.#lastId;
  }

  /** @param capabilities that this request declares */
  request(
    method: string,
    params: Record<string, unknown> = {},
    capabilities: object = TASKS,
  ): Promise<Answer> {
    this.#lastId += 1;
    const id = this.#lastId;
    const answered = new Promise<Answer>((resolve) => this.#waiting.set(id, resolve));
    const meta = z.record(z.string(), z.unknown()).optional().parse(params["_meta"]);
    const _meta = { ...envelope(capabilities), ...meta };
    this.send({ jsonrpc: "2.0", id, method, params: { ...params, _meta } });
    return answered;
  }

  send(message: unknown): void {
    this.#server.input.write(`${JSON.stringify(message)}\n`);
  }

  async call(name: string, args: Record<string, unknown>, capabilities: object = TASKS) {
    const { result, error } = await this.request("tools/call", { name, arguments: args }, capabilities);
    if (error !== undefined) throw new Error(`${error.code} ${error.message}`);
    return callAnswer.parse(result);
  }

  /** Makes a call that must be answered with an MCP task. Returns the task's id. */
  async begin(args: Record<string, unknown>, name = "generate_audio"): Promise<string> {
    return CreateTaskResultV2Schema.parse(await this.call(name, args)).taskId;
  }

  async fetchTask(taskId: string): Promise<TaskNow> {
    const { result, error } = await this.request("tasks/get", { taskId });
    if (error !== undefined) throw new Error(`${error.code} ${error.message}`);
    return GetTaskResultV2Schema.parse(result);
  }

  /** Returns the code of the error with which a request is answered, or 0 if it succeeds. */
  async refusal(method: string, params: Record<string, unknown>, capabilities: object = TASKS) {
    return (await this.request(method, params, capabilities)).error?.code ?? 0;
  }

  async cancel(taskId: string): Promise<Answer> {
    return await this.request("tasks/cancel", { taskId });
  }

  /** Polls until the task has ended. */
  async waitForEnd(taskId: string, withinMs = 20_000): Promise<TaskNow> {
    const beganAtMs = performance.now();
    for (;;) {
      const now = await this.fetchTask(taskId);
      if (now.status !== "working") return now;
      if (performance.now() - beganAtMs > withinMs) throw new Error(`still ${JSON.stringify(now)}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** Polls until something has happened elsewhere, such as at the service. */
  async pollUntil(taskId: string, hasHappened: () => boolean, withinMs = 30_000): Promise<void> {
    const beganAtMs = performance.now();
    while (!hasHappened()) {
      const now = await this.fetchTask(taskId);
      if (performance.now() - beganAtMs > withinMs)
        throw new Error(`nothing happened: ${JSON.stringify(now)}`);
    }
  }

  /** Waits until a task has ended, and returns its result. */
  async result(taskId: string): Promise<z.infer<typeof toolResult>> {
    return resultOf(await this.waitForEnd(taskId));
  }

  async kill(): Promise<void> {
    await killHard(this.pid);
  }

  /** Ends the server, and fails if it does not end. */
  async close(): Promise<void> {
    this.#server.input.end();
    const isLate = new Promise<"late">((resolve) => setTimeout(resolve, 30_000, "late").unref());
    if ((await Promise.race([this.#server.exited, isLate])) === "late")
      throw new Error(`a server has not ended:\n${this.#server.stderr()}`);
  }
}

export function resultOf(now: TaskNow): z.infer<typeof toolResult> {
  if (now.status !== "completed") throw new Error(`not completed: ${JSON.stringify(now)}`);
  return toolResult.parse(now.result);
}
