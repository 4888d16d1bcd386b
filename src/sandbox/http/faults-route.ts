/** Serves POST /sandbox/faults, which is outside the contract and needs no API key (docs/reference.md, Sandbox). */
import type { FastifyInstance } from "fastify";
import { type Faults, faultsSchema } from "../faults.ts";
import { invalidRequestError } from "../service-error.ts";
import { parseJsonBody } from "./request-body.ts";

/**
 * Answers 204 to the body `{ fail_next_tasks?, unavailable?, capacity_full? }`, and 400 to any other body. Refuses
 * requests with an `Origin` header, because browsers send this header with every POST. Otherwise, a web page in a
 * browser on this machine could set faults.
 */
export function registerFaultsRoute(app: FastifyInstance, faults: Faults): void {
  app.post("/sandbox/faults", async (request, reply) => {
    if (request.headers.origin !== undefined) throw invalidRequestError("Web pages may not set faults.");
    const settings = faultsSchema.safeParse(parseJsonBody(request));
    if (!settings.success) {
      throw invalidRequestError(
        "The body may hold fail_next_tasks (a whole number), unavailable (api_unavailable, " +
          "temporarily_unavailable or null) and capacity_full (true or false), and nothing else.",
      );
    }
    faults.apply(settings.data);
    return reply.code(204).send();
  });
}
