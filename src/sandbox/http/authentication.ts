/** Answers 401 or 503 before any other check, and finds the caller's account (docs/contract.md, Authentication). */
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Account, AccountRegistry } from "../accounts/account-registry.ts";
import type { Faults } from "../faults.ts";
import { ServiceError } from "../sandbox-errors.ts";

const CALLER = "caller";

/**
 * Finds the account of the request's API key.
 *
 * @throws ServiceError invalid_api_key
 */
export function requireAccount(
  accountRegistry: AccountRegistry,
  request: Pick<FastifyRequest, "headers">,
): Account {
  const account = accountRegistry.accountFor(request.headers.authorization);
  if (account === undefined) {
    throw new ServiceError("invalid_api_key", "The API key is missing, invalid or revoked.");
  }
  return account;
}

/** Makes every route of `app` check the API key (401) first, and then the fault `unavailable` (503). */
export function registerAuthentication(
  app: FastifyInstance,
  accountRegistry: AccountRegistry,
  faults: Faults,
): void {
  app.decorateRequest(CALLER);
  app.addHook("onRequest", async (request) => {
    request.setDecorator(CALLER, requireAccount(accountRegistry, request));
    if (faults.unavailable === "api_unavailable") {
      throw new ServiceError("api_unavailable", "The API is not enabled.");
    }
    if (faults.unavailable === "temporarily_unavailable") {
      throw new ServiceError("temporarily_unavailable", "The service is temporarily unavailable.");
    }
  });
}

/** Returns the caller's account. Works only in routes that {@link registerAuthentication} covers. */
export function getAuthenticatedAccount(request: FastifyRequest): Account {
  return request.getDecorator<Account>(CALLER);
}
