/** Runs a service for the bench, in a process of its own, and prints its address. */
import { FakeService } from "../test/support/fake-service.ts";

const service = await FakeService.start({ audioBytes: Number(process.argv[2]) });
// The input closes when the bench ends, even if the bench fails. End the service then.
process.stdin.resume().once("end", () => process.exit());
process.stdout.write(`${JSON.stringify({ baseUrl: service.baseUrl, apiKey: service.apiKey })}\n`);
