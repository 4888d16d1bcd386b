/**
 * Drives the built bin with real client programs, pinned and fetched from npm, and a scripted model. Writes what
 * their models saw into test/clients/README.md.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { networkInterfaces, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { Client } from "../test/clients/client.ts";
import { COMMANDS } from "../test/clients/commands.ts";
import { driveClient, type Outcome } from "../test/clients/drive.ts";
import { LIBRARIES } from "../test/clients/libraries.ts";
import { findLoopbackPrefix } from "../test/clients/loopback.ts";
import { PLUGINS } from "../test/clients/plugins.ts";
import { renderTable, writeTable } from "../test/clients/table.ts";
import { TERMINALS } from "../test/clients/terminals.ts";
import { fetchPackages } from "./outside-cache.ts";

const root = join(import.meta.dirname, "..");
const CLIENTS: readonly Client[] = [...TERMINALS, ...PLUGINS, ...LIBRARIES, ...COMMANDS];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    confined: { type: "boolean", default: false },
    /** Keeps the conversations even if all clients pass, and prints their folder. */
    keep: { type: "boolean", default: false },
  },
});

const titleOf = ({ name, variant }: Client): string =>
  variant === undefined ? name : `${name} (${variant})`;
const chosen = positionals.length === 0 ? CLIENTS : CLIENTS.filter(({ name }) => positionals.includes(name));

/** Fetches the chosen clients, then drives them with loopback as the only network, if this machine can do that. */
function confine(): number {
  for (const client of chosen) {
    console.log(`${titleOf(client)}: ${fetchPackages(client.packages)}`);
  }
  const [command, ...before] = findLoopbackPrefix() ?? [];
  if (command === undefined) {
    console.log(
      "\nNo network of their own for the clients here (that takes Linux, unshare and ip): they are told",
    );
    console.log("where the scripted model is, and nothing keeps them from speaking to others as well.");
  }
  const kept = values.keep ? ["--keep"] : [];
  const args = [join(root, "scripts", "test-clients.ts"), "--confined", ...kept, ...positionals];
  const whole = [...before, process.execPath, ...args];
  const { status } =
    command === undefined
      ? spawnSync(process.execPath, args, { stdio: "inherit" })
      : spawnSync(command, whole, { stdio: "inherit" });
  return status ?? 1;
}

async function driveAll(): Promise<number> {
  const others = Object.values(networkInterfaces()).flatMap((each) =>
    each?.filter(({ internal }) => !internal),
  );
  console.log(`\nNetwork: ${others.length === 0 ? "loopback alone" : "as this machine has it"}\n`);
  const folder = mkdtempSync(join(tmpdir(), "agm-clients-"));
  const outcomes: Outcome[] = [];
  for (const [index, client] of chosen.entries()) {
    const own = join(folder, String(index + 1));
    mkdirSync(own);
    const beganAtMs = performance.now();
    const modules = fetchPackages(client.packages);
    const outcome = await driveClient(client, { root, modules, folder: own });
    outcomes.push(outcome);
    const seconds = ((performance.now() - beganAtMs) / 1000).toFixed(1);
    console.log(`${outcome.problems.length === 0 ? "✓" : "✗"} ${titleOf(client)}, ${seconds} s`);
    for (const fault of outcome.problems) console.log(`    ${fault}`);
    if (outcome.problems.length === 0 && !values.keep) rmSync(own, { recursive: true, force: true });
    else console.log(`    what was said is in ${own}`);
  }
  const failed = outcomes.filter(({ problems }) => problems.length > 0).length;
  const table = renderTable(outcomes);
  console.log(`\n${table}\n\n${outcomes.length - failed} passed, ${failed} failed`);
  if (failed > 0) return 1;
  if (!values.keep) rmSync(folder, { recursive: true, force: true });
  if (chosen.length === CLIENTS.length) writeTable(table);
  return 0;
}

if (chosen.length === 0) {
  console.error(
    `There is no such client; there are ${[...new Set(CLIENTS.map(({ name }) => name))].join(", ")}.`,
  );
  process.exitCode = 2;
} else process.exitCode = values.confined ? await driveAll() : confine();
