/** The answer to the call that starts a narration, while its driver has not acquired the lease yet. */
import { expect, it, vi } from "vitest";
import { createNarrations } from "../../src/narration/narrations.ts";
import { createFailingService, makeDeps } from "../requests/request-setup.ts";

it("the first answer never says that the process has ended, however slow the ledger is", async () => {
  const { deps, clock } = await makeDeps(createFailingService);
  const { ledger, folder, log } = deps;
  const isHeldUp = Promise.withResolvers<string>();
  vi.spyOn(ledger.store.narrations, "acquireLease").mockReturnValue(isHeldUp.promise);
  const partOperations = {
    findRecord: async () => null,
    findSaved: async () => null,
    generate: () => new Promise<never>(() => undefined),
    readCalibration: async () => 1,
    hasOtherPronunciation: async () => false,
    awaitSent: async () => undefined,
  };
  const rest = { captionFiles: "vtt", containsSecret: () => false } as const;
  const narrations = createNarrations({ ledger, partOperations, folder, clock, log, ...rest });
  const source = {
    kind: "text",
    input: { text: "Once upon a time.", format: "plain" },
    options: { settings: {}, voices: {}, pauseSeconds: 0.6, fileLayout: "one" },
  } as const;
  const changes = {
    maxCredits: 1000,
    shouldStop: false,
    retakes: [],
    shouldSkipFailed: null,
    mayReplace: false,
    fileName: null,
  };
  const call = { signal: new AbortController().signal, waitMs: 0, onProgress: () => undefined };
  expect((await narrations.narrate(source, changes, call)).status).toBe("running");
  isHeldUp.resolve("another process");
  await narrations.close();
});
