/** POST /sandbox/faults, the controls for tests (docs/reference.md, Sandbox); no part of the contract, needs no key. */
import type { FastifyInstance } from "fastify";
import { type Faults, faultsSchema } from "../faults.ts";
import { invalidRequest } from "../service-error.ts";
import { jsonOf } from "./request-body.ts";

/**
 * `{ fail_next_tasks?, unavailable?, capacity_full? }` answers 204; anything else 400. The server listens on
 * loopback alone; a web page in a browser there is kept out by the `Origin` that every browser sends with a POST.
 */
export function faultsRoute(app: FastifyInstance, faults: Faults): void {
  app.post("/sandbox/faults", async (request, reply) => {
    if (request.headers.origin !== undefined) throw invalidRequest("Web pages may not set faults.");
    const settings = faultsSchema.safeParse(jsonOf(request));
    if (!settings.success) {
      throw invalidRequest(
        "The body may hold fail_next_tasks (a whole number), unavailable (api_unavailable, " +
          "temporarily_unavailable or null) and capacity_full (true or false), and nothing else.",
      );
    }
    faults.apply(settings.data);
    return reply.code(204).send();
  });
}
