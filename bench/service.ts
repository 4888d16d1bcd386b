/** A service for measuring, in a process of its own; prints its address. */
import { CountingService } from "../test/support/counting-service.ts";

const service = await CountingService.start({ audioBytes: Number(process.argv[2]) });
// The bench ends it by closing its input, and so does the end of a bench that failed.
process.stdin.resume().once("end", () => process.exit());
process.stdout.write(`${JSON.stringify({ baseUrl: service.baseUrl, apiKey: service.apiKey })}\n`);
