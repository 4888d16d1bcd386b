/** The service refuses a request after its call has returned. The next call gets the reason. */
import { describe, expect, it } from "vitest";
import { FAST } from "../../support/bin-under-test.ts";
import { openClientEach, openFoldersEach, openServiceEach } from "../../support/e2e-setup.ts";
import { startToolClient } from "../../support/tool-client.ts";
import { errorOf, generate } from "../../support/tool-result.ts";

const service = openServiceEach();
const testFolders = openFoldersEach();
const client = openClientEach(() => startToolClient(testFolders.env(service, FAST)));

/**
 * Answers the first submission with a pause of 4 s (400 s at a time scale of 0.01), so that its call returns before the
 * next submission. Refuses the next submission.
 */
function refuseLater(status: number, code: string): void {
  service.intercept = ({ kind, ordinal }, response) => {
    if (kind !== "create") return false;
    const error = { code: "rate_limit", message: "later" };
    if (ordinal === 1) service.json(response, 429, { error }, { "retry-after": "400" });
    else service.refuse(response, status, code);
    return true;
  };
}

describe.each([
  [402, "insufficient_credits"],
  [403, "purchase_required"],
  [400, "invalid_request"],
])("a request that is refused with %i after its call got a handle", (status, code) => {
  it("shows the reason under its handle and in the list, in every process, and is sent again by the same call", async () => {
    refuseLater(status, code);
    const args = { prompt: "Later refused", wait_seconds: 2 };
    const startedTask = await generate(client, args);
    expect(startedTask.task_id).toMatch(/^req-/);
    await expect.poll(() => service.count("create"), { timeout: 60_000 }).toBe(2);
    await expect
      .poll(async () => (await client.call("get_task", { task_id: startedTask.task_id })).isError, {
        timeout: 20_000,
      })
      .toBe(true);
    await client.close();
    const later = await startToolClient(testFolders.env(service, FAST));
    const asked = errorOf(await later.call("get_task", { task_id: startedTask.task_id, wait_seconds: 1 }));
    expect(asked).toMatchObject({ code });
    const list = await later.call("list_tasks", {});
    expect(JSON.stringify(list.structuredContent)).toContain(`Refused (${code})`);
    expect(service.count("create")).toBe(2);
    service.intercept = undefined;
    const done = await generate(later, args);
    expect(["succeeded", "queued", "processing"]).toContain(done.status);
    const keys = service.exchanges.filter(({ kind }) => kind === "create").map(({ key }) => key);
    expect(new Set(keys).size).toBe(1);
    expect(service.tasks.size).toBe(1);
    await later.close();
  });
});
