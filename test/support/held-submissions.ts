/** Holds the submissions of a fake service back, as its limits do. */
import type { FakeService } from "./fake-service.ts";

/** Makes the service refuse all submissions with 429 until the returned function is called. */
export function holdSubmissions(service: FakeService): () => void {
  service.intercept = ({ kind }, response) => {
    if (kind !== "create") return false;
    service.refuse(response, 429, "rate_limit");
    return true;
  };
  return () => {
    service.intercept = undefined;
  };
}
