/** The `say` command: turns one text into one audio file. Uses the same ledger as the server. */
import { MAX_TIMER_MS } from "../clock.ts";
import { wordFor } from "../errors.ts";
import type { GenerateRequest } from "../requests/prepare-request.ts";
import type { RequestView } from "../requests/request-view.ts";
import { parseGenerateRequest } from "../tools/generate-audio.ts";
import { describeCost, getAudioSeconds } from "../tools/task-messages.ts";
import { renderTask } from "../tools/task-output.ts";
import { ProgressLine } from "./progress-line.ts";
import { runWithWorkflow } from "./run-with-workflow.ts";
import { escapeForTerminal, renderTerminalJson } from "./terminal-messages.ts";
import { CommandError } from "./usage-errors.ts";
import type { WorkflowProvider } from "./workflow-provider.ts";

function report(view: RequestView, asJson: boolean): void {
  if (asJson) {
    const { structured } = renderTask(view, { takeFirstSuccess: () => false });
    process.stdout.write(`${renderTerminalJson(structured)}\n`);
    return;
  }
  const seconds = getAudioSeconds(view);
  const length = seconds === null ? "" : `${seconds} s of audio. `;
  const lines = [
    view.audio?.path ?? "",
    `${length}${describeCost(view)}`,
    ...view.notes.map((note) => wordFor(note, "terminal")),
  ];
  process.stdout.write(`${lines.map(escapeForTerminal).join("\n")}\n`);
}

/** Says what a person at a shell has to know of the text that was being made. */
async function describeInterrupted(
  provider: WorkflowProvider,
  { input, take }: GenerateRequest,
): Promise<string> {
  const fetches = "The same command fetches it, and never pays twice.";
  const state = await provider
    .requests()
    .then((requests) => requests.readSendState(input, take))
    .catch(() => "unknown" as const);
  switch (state) {
    case "unsent":
      return "Nothing was sent or charged.";
    case "accepted":
      return `The service has accepted the text, makes and charges it. ${fetches}`;
    case "unknown":
      return `If the text was sent already, the service makes and charges it. ${fetches}`;
  }
}

/**
 * Makes the audio, or finds it, and prints its path and its price.
 *
 * @param args the arguments of the tool `generate_audio`
 * @returns the exit code
 * @throws UsageError if an option is wrong; CommandError for everything else that fails
 */
export async function runSayCommand(
  args: Readonly<Record<string, unknown>>,
  asJson: boolean,
  isSandbox: boolean,
): Promise<number> {
  return await runWithWorkflow(isSandbox, async ({ provider, signal }) => {
    const { defaultVoice, pronunciations } = provider.config;
    const request = parseGenerateRequest(args, { defaultVoice, pronunciations: pronunciations.rules });
    const line = new ProgressLine(process.stderr);
    try {
      const requests = await provider.requests();
      // Wait without a limit, because the command ends only when the audio is saved or has failed.
      const call = { signal, waitMs: MAX_TIMER_MS, onProgress: (words: string) => line.show(words) };
      const view = await requests.generate(request, call);
      line.end();
      report(view, asJson);
      return 0;
    } catch (error) {
      line.end();
      if (!signal.aborted) throw error;
      if (isSandbox)
        throw new CommandError("interrupted. The sandbox ended with the command; nothing was spent.");
      throw new CommandError(`interrupted. ${await describeInterrupted(provider, request)}`);
    }
  });
}
