/** The environment of most end-to-end tests: a counting service, temporary folders, and the built bin with a client. */
import { afterEach, beforeEach } from "vitest";
import { type CountingOptions, CountingService } from "./counting-service.ts";
import { createWorkplace, FAST, startToolClient, type ToolClient, type Workplace } from "./workplace.ts";

export interface E2eSetup {
  readonly service: CountingService;
  readonly workplace: Workplace;
  readonly client: ToolClient;
}

/**
 * Opens a new setup before each test of a file, and closes it afterwards.
 *
 * @param receive receives the setup; returns a function for the client that is open at the end, because a test
 *   may replace it
 */
export function setUpEach(
  receive: (setup: E2eSetup) => () => ToolClient,
  options: CountingOptions = {},
): void {
  let tearDown: () => Promise<void> = async () => undefined;
  beforeEach(async () => {
    const service = await CountingService.start(options);
    const workplace = await createWorkplace();
    const client = await startToolClient(workplace.env(service, FAST));
    const getOpenClient = receive({ service, workplace, client });
    tearDown = async () => {
      await getOpenClient().close();
      await service.stop();
      await workplace.remove();
    };
  });
  afterEach(() => tearDown());
}
