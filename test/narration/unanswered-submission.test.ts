/**
 * The service accepts a submission, but the process is killed before it receives the answer. The credits are reserved,
 * and the limit counts them before any other part is submitted.
 */
import { expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { RESERVED_CREDITS } from "../../src/contract/billing.ts";
import { FAST } from "../support/bin-under-test.ts";
import { FakeService } from "../support/fake-service.ts";
import { killHard } from "../support/processes.ts";
import { createTestFolders } from "../support/test-folders.ts";
import { startBinClient } from "../support/tool-client.ts";
import { buildText, narrationOf } from "./narrator.ts";

const LONG = { timeout: 20_000, interval: 5 };
/**
 * Enough for the charge of one part (138 credits) and the reservation of a second one (150), but not for a third part.
 */
const MAX_CREDITS = 290;

const billed = z.object({ billing: z.object({ charged_credits: z.number().nullable() }) });

it("a limit is kept although a killed process has left a submission without a response", async () => {
  const service = await FakeService.start({
    processingMs: 200,
    audioBytes: 4 * 24_000 * 2,
    audioSeconds: 110,
  });
  service.intercept = async (exchange, response, self) => {
    if (exchange.kind !== "create") return false;
    const task = self.accept(exchange);
    if (task === "conflict") return false;
    await new Promise((resolve) => setTimeout(resolve, 250));
    self.json(response, 202, self.view(task, true));
    return true;
  };
  const testFolders = await createTestFolders();
  const env = testFolders.env(service, FAST);
  const [killTarget, next] = [await startBinClient(env), await startBinClient(env)];
  onTestFinished(async () => {
    await next.close();
    await service.stop();
    await testFolders.remove();
  });
  const text = buildText("One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight");
  const { narration_id } = narrationOf(await next.call("narrate", { text, output_format: "pcm" }));
  const call = { narration_id, max_credits: MAX_CREDITS };
  // A first limit below the suggested one is answered with the plan.
  await next.call("narrate", call);
  void killTarget.call("narrate", call).catch(() => undefined);
  await expect.poll(() => service.tasks.size, LONG).toBe(2);
  await new Promise((resolve) => setTimeout(resolve, 30));
  await killHard(killTarget.pid);
  service.intercept = undefined;
  const { message } = narrationOf(await next.call("narrate", { narration_id, stop: true }));
  expect(message).toContain("150 credits stay reserved for what has no answer yet");
  expect(message).not.toMatch(/2 parts that are already with the service/);
  const stopped = narrationOf(await next.call("narrate", call));
  expect(stopped.status).toBe("stopped");
  expect(stopped.problems[0]?.code).toBe("max_credits_reached");
  const charges = [...service.tasks.values()].map((task) => {
    const { billing } = billed.parse(service.view(task));
    return billing.charged_credits ?? RESERVED_CREDITS;
  });
  expect(charges.reduce((sum, credits) => sum + credits, 0)).toBeLessThanOrEqual(MAX_CREDITS);
  expect(stopped.credits.charged + stopped.credits.reserved).toBeLessThanOrEqual(MAX_CREDITS);
}, 60_000);
