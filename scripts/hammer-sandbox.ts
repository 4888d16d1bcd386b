/** Owns hammering the sandbox by hand, with its real voices or without: `--seconds 20 --clients 200 --accounts 40 [--voices]`. */
import { parseArgs } from "node:util";
import { startSandbox } from "../src/sandbox/sandbox.ts";
import { hammerAccounts, hammerSandbox } from "../test/sandbox/hammer.ts";
import { TinySpeech } from "../test/sandbox/tiny-speech.ts";

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "20" },
    clients: { type: "string", default: "200" },
    accounts: { type: "string", default: "40" },
    voices: { type: "boolean", default: false },
  },
});
const accounts = hammerAccounts(Number(values.accounts), 100_000);
const sandbox = await startSandbox({
  accounts,
  timeScale: 0.001,
  processingSeconds: 0.05,
  ...(values.voices ? {} : { speech: new TinySpeech() }),
});
const megabytes = (): number => Math.round(process.memoryUsage().rss / 2 ** 20);
const startMegabytes = megabytes();
const report = await hammerSandbox({
  sandbox,
  keys: accounts.accounts.map((_, index) => `sk-hammer-${index}`),
  clients: Number(values.clients),
  seconds: Number(values.seconds),
  ...(values.voices ? { prompt: () => `Hello, this is number ${Math.floor(Math.random() * 1e6)}.` } : {}),
});
const { unanswered, wrongBalances, ...figures } = report;
const memory = { startMegabytes, endMegabytes: megabytes() };
process.stdout.write(
  `${JSON.stringify({ ...figures, ...memory, unanswered: unanswered.length, wrongBalances: wrongBalances.length }, null, 2)}\n`,
);
for (const line of [...unanswered.slice(0, 10), ...wrongBalances]) process.stdout.write(`${line}\n`);
await sandbox.stop();
process.exitCode = unanswered.length + wrongBalances.length === 0 ? 0 : 1;
