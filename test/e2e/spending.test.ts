/** The spending in `list_tasks`. */
import { afterEach, beforeEach, expect, it } from "vitest";
import { CountingService } from "../support/counting-service.ts";
import { createWorkplace, FAST, startToolClient, textOf, type Workplace } from "../support/workplace.ts";

let service: CountingService;
let workplace: Workplace;
beforeEach(async () => {
  service = await CountingService.start();
  workplace = await createWorkplace();
});
afterEach(async () => {
  await service.stop();
  await workplace.remove();
});

it.each([
  [{}, "Spent: 20 credits today, 20 in 7 days, 20 in 30 days.", undefined],
  [{ AUDIO_CREDIT_BUDGET: "1500" }, "20 in 30 days; the budget of 1,500 in any 24 hours leaves 1,480.", 1480],
])("spending is stated with sums and, if there is one, the budget: %j", async (settings, words, left) => {
  const client = await startToolClient(workplace.env(service, { ...FAST, ...settings }));
  await client.call("generate_audio", { prompt: "One." });
  await client.call("generate_audio", { prompt: "Two." });
  const listed = await client.call("list_tasks", {});
  expect(textOf(listed)).toContain(words);
  expect(listed.structuredContent).toMatchObject({ message: expect.stringContaining(words) });
  expect(listed.structuredContent?.["spent"]).toEqual({
    today: 20,
    days_7: 20,
    days_30: 20,
    ...(left === undefined ? {} : { budget_left: left }),
  });
  await client.close();
});
