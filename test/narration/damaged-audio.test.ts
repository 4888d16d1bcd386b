/** The service delivered damaged audio for a part. A repeat cannot help, so another take is offered. */
import { expect, it, onTestFinished } from "vitest";
import { FAST } from "../support/bin-under-test.ts";
import { FakeService } from "../support/fake-service.ts";
import { createTestFolders } from "../support/test-folders.ts";
import { startToolClient } from "../support/tool-client.ts";
import { narrationOf } from "./narrator.ts";

it("damaged audio is reported with the call that helps, which requests another take", async () => {
  // Four times the bytes of 4 s are neither mono nor stereo sound.
  const service = await FakeService.start({ audioBytes: 4 * 4 * 24_000 * 2, audioSeconds: 4 });
  const testFolders = await createTestFolders();
  const client = await startToolClient(testFolders.env(service, FAST));
  onTestFinished(async () => {
    await client.close();
    await service.stop();
    await testFolders.remove();
  });
  const text = "A line that comes out damaged.";
  const call = { text, output_format: "pcm", max_credits: 300 };
  const stopped = narrationOf(await client.call("narrate", call));
  expect(stopped).toMatchObject({ status: "stopped", parts: { saved: 0, failed: 1 } });
  expect(stopped.next_step).toContain("retakes");
  expect(stopped.next_step).toContain("max_credits 300");
  await client.call("narrate", call);
  expect(service.count("create")).toBe(1);
  const retakes = [{ quote: "comes out damaged", take: 2 }];
  await client.call("narrate", { narration_id: stopped.narration_id, max_credits: 300, retakes });
  expect(service.count("create")).toBe(2);
});
