/** Progress of a narration, from which clients draw a bar. */
import { expect, it } from "vitest";
import { z } from "zod";
import { RawServer } from "../faults/raw-server.ts";
import { FAST } from "../support/bin-under-test.ts";
import { FakeService } from "../support/fake-service.ts";
import { createTestFolders } from "../support/test-folders.ts";
import { buildText, Narrator, PART_BYTES } from "./narrator.ts";

const news = z.object({ progress: z.number(), total: z.number() });

it("progress counts the saved parts of all parts, and grows each time", async () => {
  const service = await FakeService.start({ audioBytes: PART_BYTES, audioSeconds: 4, processingMs: 400 });
  const testFolders = await createTestFolders();
  const server = await RawServer.start(testFolders.env(service, FAST), { isInProcess: true });
  const args = { text: buildText("One", "Two", "Three"), output_format: "pcm", max_credits: 900 };
  const params = { name: "narrate", arguments: args, _meta: { progressToken: "p" } };
  await server.request("tools/call", params);
  await server.end();
  await service.stop();
  await testFolders.remove();
  const reported = server.notifications
    .filter(({ method }) => method === "notifications/progress")
    .map((notification) => news.parse(notification.params));
  expect(reported.length).toBeGreaterThan(2);
  expect(new Set(reported.map(({ total }) => total))).toEqual(new Set([3]));
  for (const [index, { progress }] of reported.entries()) {
    expect(progress).toBeLessThanOrEqual(3);
    expect(progress).toBeGreaterThan(index === 0 ? -1 : (reported[index - 1]?.progress ?? 0));
  }
});

it("parts with equal words are one task: the time to make them is that of one", async () => {
  const narrator = await Narrator.start();
  const plan = await narrator.narrate({
    text: Array.from({ length: 20 }, () => "# So\n\nAll right then.").join("\n\n"),
  });
  expect(plan).toMatchObject({ parts: { total: 20 }, credits: { estimate: 10 } });
  expect(plan.message).not.toContain("Making it takes");
  await narrator.stop();
});
