/** A stand-in for the use cases of single requests, in tests that call few of them. */
import type { Requests } from "../../src/requests/requests.ts";

const refuse = (): never => {
  throw new Error("not asked for");
};

/** Every method throws; a test replaces those that it needs. Nothing is driven. */
export const UNUSED_REQUESTS: Requests = {
  generate: refuse,
  withdraw: refuse,
  getTask: refuse,
  download: refuse,
  listRequests: refuse,
  sumSpending: refuse,
  findSavedPath: refuse,
  readSendState: refuse,
  listNewestSaved: refuse,
  listNewestTaskIds: refuse,
  readResource: refuse,
  readNarrationFile: refuse,
  readTaskPiece: refuse,
  readNarrationPiece: refuse,
  readVerifiedBytes: refuse,
  close: async () => undefined,
};
