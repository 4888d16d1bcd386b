/** Processes of one test that speak tasks, on one machine's folders or on several's, and their clean end. */
import { spawnSync } from "node:child_process";
import { onTestFinished } from "vitest";
import { makeWorkplace } from "../processes/team.ts";
import type { CountingService } from "../support/counting-service.ts";
import { TaskClient } from "../support/task-client.ts";
import { FAST, type Workplace } from "../support/workplace.ts";

/** One more process of that workplace. */
export function startClient(
  workplace: Workplace,
  service: { baseUrl: string; apiKey: string },
  settings: Record<string, string> = {},
  under: readonly string[] = [],
): TaskClient {
  const client = new TaskClient(workplace.env(service, { ...FAST, ...settings }), under);
  onTestFinished(() => client.close());
  return client;
}

export type Store = "sqlite" | "postgres";

/** Starts processes on one store: on SQLite in one workplace, on PostgreSQL each on a machine of its own. */
export async function machinesOn(
  store: Store,
  service: { baseUrl: string; apiKey: string },
  newDatabase: () => Promise<string>,
): Promise<(settings?: Record<string, string>) => Promise<{ client: TaskClient; workplace: Workplace }>> {
  if (store === "sqlite") {
    const workplace = await makeWorkplace();
    return async (settings) => ({ client: startClient(workplace, service, settings), workplace });
  }
  const url = await newDatabase();
  return async (settings) => {
    const workplace = await makeWorkplace();
    const client = startClient(workplace, service, { AUDIO_STORE_URL: url, ...settings });
    return { client, workplace };
  };
}

/** Puts off all creates, as long as nothing else is said. */
export function holdCreates(service: CountingService): () => void {
  service.intercept = ({ kind }, response) => {
    if (kind !== "create") return false;
    service.refuse(response, 429, "rate_limit");
    return true;
  };
  return () => {
    service.intercept = undefined;
  };
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Another name of the host and other process numbers: to a ledger that is another machine, of whose dead nobody knows. */
export const ELSEWHERE: readonly string[] = [
  ...["unshare", "--user", "--map-root-user", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc"],
  ...["sh", "-c", 'hostname agm-other-machine && exec "$@"', "sh"],
];

export const whyNotElsewhere = (): string | undefined => {
  const [command = "", ...args] = [...ELSEWHERE, "true"];
  const works = process.platform === "linux" && spawnSync(command, args, { stdio: "ignore" }).status === 0;
  return works ? undefined : "no other machine can be pretended here (unshare)";
};
