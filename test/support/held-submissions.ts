/** Holds the submissions of a fake service back, as its limits do. */
import type { FakeService } from "./fake-service.ts";

/** Makes the service refuse all submissions with 429 until the returned function is called. */
export function holdSubmissions(service: FakeService): () => void {
  service.refuseEvery("create", 429, "rate_limit");
  return () => {
    service.intercept = undefined;
  };
}
