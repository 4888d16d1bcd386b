/** A process in the process: it can be killed, suspended and cut off from the ledger at any use of the ledger. */
import type { Clock } from "../../../src/clock.ts";
import type { Ledger } from "../../../src/ledger/ledger.ts";
import { createLog } from "../../../src/log.ts";
import { buildTiming, type RequestDeps } from "../../../src/requests/deps.ts";
import { withGate } from "../../support/gated-database.ts";
import type { ManualClock } from "../../support/manual-clock.ts";
import type { WorkflowCode } from "./code-under-test.ts";
import type { ScriptedService } from "./scripted-service.ts";

export const BASE_URL = "https://service.test";
/** Windows and leases are short, so that a scenario has few rounds. */
export const TIME_SCALE = 0.1;

/** What happens to a process at a use of the ledger. `late`: the use has an effect, but its answer is lost. */
export interface Trouble {
  readonly kind: "kill" | "suspend" | "away" | "late";
  /** How many uses of the ledger come before it. */
  readonly afterUses: number;
  readonly ms: number;
}

export interface ProcessPlace {
  readonly code: WorkflowCode;
  readonly clock: ManualClock;
  readonly service: ScriptedService;
  readonly database: Ledger["database"];
  readonly outputDir: string;
  readonly onSubmit: (body: string, key: string) => void;
  /** Counts uses of the ledger that are under way. */
  readonly busy: { count: number };
}

const NEVER = new Promise<never>(() => undefined);

export class SimulatedProcess {
  readonly id: string;
  readonly key: string;
  readonly deps: RequestDeps;
  isDead = false;
  readonly #clock: ManualClock;
  #frozen: Promise<void> | null = null;
  #awayUntilMs = 0;
  #troubles: Array<Trouble & { left: number }> = [];

  private constructor(
    id: string,
    key: string,
    clock: ManualClock,
    build: (self: SimulatedProcess) => RequestDeps,
  ) {
    this.id = id;
    this.key = key;
    this.#clock = clock;
    this.deps = build(this);
  }

  static async start(id: string, key: string, place: ProcessPlace): Promise<SimulatedProcess> {
    const { code, clock, service, database, outputDir, onSubmit, busy } = place;
    const folder = await code.openOutputFolder(outputDir, clock);
    const log = createLog("silent", (text) => text);
    return new SimulatedProcess(id, key, clock, (self) => {
      const own: Clock = {
        wallMs: () => clock.wallMs(),
        steadyMs: () => clock.steadyMs(),
        sleep: async (ms, signal) => {
          await clock.sleep(ms, signal);
          await self.thaw();
        },
      };
      const gated = withGate(database, async (_use, pass) => {
        const isLate = await self.#beforeUse(code);
        busy.count += 1;
        const answer = await pass().finally(() => {
          busy.count -= 1;
        });
        await self.thaw();
        if (isLate) throw self.#awayError(code);
        return answer;
      });
      return {
        service: service.clientOf(() => self.thaw(), onSubmit),
        ledger: {
          ...{ database: gated, clock: own, log, timeScale: TIME_SCALE, creditBudget: null },
          identity: { baseUrl: BASE_URL, apiKeyId: key, processId: id, machineId: "this" },
        },
        folder,
        partsFolder: code.openPartsFolder(folder, clock),
        ...{ clock: own, log, random: () => 0.5 },
        timing: buildTiming({ pollIntervalSeconds: 5, timeScale: TIME_SCALE, waitSeconds: 45 }),
      };
    });
  }

  kill(): void {
    this.isDead = true;
  }

  arm(trouble: Trouble): void {
    this.#troubles.push({ ...trouble, left: trouble.afterUses });
  }

  /** Ends all trouble that has not ended the process. */
  heal(): void {
    this.#troubles = [];
    this.#awayUntilMs = 0;
  }

  /** Resolves when the process runs; never if it is dead. */
  async thaw(): Promise<void> {
    if (this.isDead) await NEVER;
    await this.#frozen;
    if (this.isDead) await NEVER;
  }

  async #beforeUse(code: WorkflowCode): Promise<boolean> {
    await this.thaw();
    let isLate = false;
    for (const trouble of this.#troubles) {
      trouble.left -= 1;
      if (trouble.left >= 0) continue;
      if (trouble.kind === "kill") this.isDead = true;
      if (trouble.kind === "suspend") this.#frozen = this.#clock.sleep(trouble.ms);
      if (trouble.kind === "away") this.#awayUntilMs = this.#clock.steadyMs() + trouble.ms;
      if (trouble.kind === "late") isLate = true;
    }
    this.#troubles = this.#troubles.filter(({ left }) => left >= 0);
    await this.thaw();
    if (this.#clock.steadyMs() < this.#awayUntilMs) throw this.#awayError(code);
    return isLate;
  }

  #awayError = (code: WorkflowCode): Error =>
    new code.AudioError("store_unavailable", "The ledger is away.", { retryable: true });
}
