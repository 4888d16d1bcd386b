/** Owns a service for measuring: one process of its own, large audio, instants of success; started by path, prints its address. */
import { CountingService } from "../test/support/counting-service.ts";

const [audioBytes = "20000", processingMs = "0"] = process.argv.slice(2);
const service = await CountingService.start({
  audioBytes: Number(audioBytes),
  processingMs: Number(processingMs),
});
process.stdout.write(`${JSON.stringify({ base_url: service.baseUrl, api_key: service.apiKey })}\n`);
