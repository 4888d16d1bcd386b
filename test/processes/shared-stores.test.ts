/** The built bin on a shared PostgreSQL: behind TLS, and used by two machines at once. */
import { describe, expect, it, onTestFinished } from "vitest";
import { FAST } from "../support/bin-under-test.ts";
import { selfSigned } from "../support/certificates.ts";
import { PostgresServer, whyNoPostgres } from "../support/postgres-server.ts";
import { skipBecause } from "../support/skip-because.ts";
import { errorOf, generate, resultTextOf } from "../support/tool-result.ts";
import { startProcess, startService, useTestFolders } from "./server-processes.ts";

const CALL = { prompt: "Shared by two machines" };

describe("a shared store", skipBecause(whyNoPostgres()), () => {
  it("behind TLS works if its certificate is trusted, and is refused with a reason otherwise", async () => {
    const certificate = selfSigned();
    const postgres = await PostgresServer.start({ tls: certificate });
    onTestFinished(async () => {
      await postgres.remove();
      certificate.remove();
    });
    const service = await startService({ processingMs: 50 });
    const testFolders = await useTestFolders();
    const settings = { ...FAST, AUDIO_STORE_URL: postgres.url };
    const otherSetup = await startProcess(testFolders, service, {
      ...settings,
      // With this value, Node accepts every certificate, unless the program sets `rejectUnauthorized`.
      NODE_TLS_REJECT_UNAUTHORIZED: "0",
    });
    const refused = await otherSetup.call("generate_audio", CALL);
    expect(errorOf(refused).code).toBe("store_unavailable");
    expect(resultTextOf(refused)).toMatch(/certificate/i);
    expect(service.exchanges).toEqual([]);
    const trusting = await startProcess(testFolders, service, {
      ...settings,
      NODE_EXTRA_CA_CERTS: certificate.certificate,
    });
    expect((await generate(trusting, CALL)).status).toBe("succeeded");
    expect((await generate(trusting, CALL)).replayed).toBe(true);
    expect(service.count("create")).toBe(1);
  });
});
