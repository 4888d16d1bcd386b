/** The environment of most end-to-end tests: a fake service, temporary folders, and the built bin with a client. */
import { afterEach, beforeEach } from "vitest";
import { FAST } from "./bin-under-test.ts";
import { FakeService, type FakeServiceOptions } from "./fake-service.ts";
import { createTestFolders, type TestFolders } from "./test-folders.ts";
import { startToolClient, type ToolClient } from "./tool-client.ts";

export interface E2eSetup {
  readonly service: FakeService;
  readonly testFolders: TestFolders;
  readonly client: ToolClient;
}

/**
 * Opens a new setup before each test of a file, and closes it afterwards.
 *
 * @param receive is called with each setup. It returns a function that finds the client to close, because a test may
 *   replace the client.
 */
export function setUpEach(
  receive: (setup: E2eSetup) => () => ToolClient,
  options: FakeServiceOptions = {},
): void {
  let tearDown: () => Promise<void> = async () => undefined;
  beforeEach(async () => {
    const service = await FakeService.start(options);
    const testFolders = await createTestFolders();
    const client = await startToolClient(testFolders.env(service, FAST));
    const getOpenClient = receive({ service, testFolders, client });
    tearDown = async () => {
      await getOpenClient().close();
      await service.stop();
      await testFolders.remove();
    };
  });
  afterEach(() => tearDown());
}
