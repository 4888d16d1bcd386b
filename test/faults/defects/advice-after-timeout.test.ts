/** The advice when the recovery timeout passes before the service has accepted a request. */
import { expect, it } from "vitest";
import { resultTextOf } from "../../support/tool-result.ts";
import { closeAfterEach, openFaultSetup } from "../fault-setup.ts";
import { codeOf } from "./read-from-outside.ts";

closeAfterEach();

it("a request that the service never accepted is to be repeated, because there is no task id to query", async () => {
  const setup = await openFaultSetup();
  setup.misbehave((_exchange, response, service) => {
    service.refuse(response, 429, "rate_limit");
    return true;
  });
  const outcome = await setup.server.call("generate_audio", { prompt: "Not today", wait_seconds: 15 });
  expect(codeOf(outcome)).toBe("wait_expired");
  expect(resultTextOf(outcome)).toContain("Repeat the same call later");
  expect(resultTextOf(outcome)).not.toMatch(/task_id|get_task/);
});
