/** Addresses of PostgreSQL databases: what is accepted, what is refused, and that nothing weakens TLS. */
import { describe, expect, it } from "vitest";
import { parsePostgresAddress } from "../../src/config/postgres-address.ts";

const CHECKED = { rootCertificate: null };

describe("an address", () => {
  it("is read with all its parts", () => {
    expect(
      parsePostgresAddress("postgresql://some%20one:p%40ss@db.example:6432/audio?sslrootcert=/etc/ca.pem"),
    ).toEqual({
      host: "db.example",
      port: 6432,
      database: "audio",
      user: "some one",
      password: "p@ss",
      tls: { rootCertificate: "/etc/ca.pem" },
    });
  });

  it("uses PostgreSQL's own defaults for missing parts", () => {
    const short = { host: "localhost", port: 5432, user: "postgres", password: "", tls: null };
    expect(parsePostgresAddress("postgres://localhost")).toEqual({ ...short, database: "postgres" });
    expect(parsePostgresAddress("postgres://ann@localhost/")).toEqual({
      ...short,
      user: "ann",
      database: "ann",
    });
    expect(parsePostgresAddress("postgres://[::1]/audio")).toEqual({
      ...short,
      host: "::1",
      database: "audio",
    });
  });

  it("may hold a password that is not percent-encoded properly", () => {
    expect(parsePostgresAddress("postgres://u:50%zz@localhost/audio")).toMatchObject({ password: "50%zz" });
  });

  it.each([
    "http://host/db",
    "postgres//host/db",
    "postgres:host",
    "postgres:///db",
    "postgres://a,b/db",
    "postgres://%2Fvar%2Frun/db",
    "postgres://host:0/db",
    "postgres://host:99999/db",
    "postgres://host/a/b",
    "postgres://host/a%00b",
    "postgres://u:1#hunter2@host/db",
    "postgres://u:1?hunter2@host/db",
    "postgres://u:1/hunter2@host/db",
  ])("(%s) is refused, and the error does not contain the password", (text) => {
    const fault = parsePostgresAddress(text);
    expect(fault).toEqual({ what: "is not a postgres:// address", fix: expect.stringContaining("%2F") });
    expect(JSON.stringify(fault)).not.toContain("hunter2");
  });

  it("names unknown parameters", () => {
    for (const name of [
      "options",
      "host",
      "user",
      "password",
      "ssl",
      "sslcert",
      "channel_binding",
      "constructor",
    ]) {
      const fault = parsePostgresAddress(`postgres://u:hunter2@host/db?${name}=x`);
      expect(fault).toEqual({
        what: `has parameters that are not supported: ${name}`,
        fix: "Remove them; sslmode and sslrootcert are supported.",
      });
    }
  });
});

describe("TLS", () => {
  const tlsOf = (text: string): unknown => {
    const address = parsePostgresAddress(text);
    return "what" in address ? address.what : address.tls;
  };

  it.each(["", "?sslmode=prefer", "?sslmode=require", "?sslmode=verify-ca", "?sslmode=verify-full"])(
    "is verified for another machine (%s)",
    (mode) => {
      for (const host of [
        "db.example",
        "10.0.0.1",
        "0.0.0.0",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "[fe80::1]",
      ]) {
        expect(tlsOf(`postgres://${host}/db${mode}`)).toEqual(CHECKED);
      }
    },
  );

  it.each(["disable", "allow", "no-verify", "false", "0", ""])(
    "cannot be weakened for another machine (sslmode=%s)",
    (mode) => {
      expect(tlsOf(`postgres://db.example/db?sslmode=${mode}`)).toMatch(/sslmode/);
    },
  );

  it("is used for this machine if the address requests it", () => {
    expect(tlsOf("postgres://127.0.0.1/db")).toBeNull();
    expect(tlsOf("postgres://LOCALHOST/db?sslmode=disable")).toBeNull();
    expect(tlsOf("postgres://127.0.0.1/db?sslmode=require")).toEqual(CHECKED);
    expect(tlsOf("postgres://127.0.0.1/db?sslrootcert=/ca.pem")).toEqual({ rootCertificate: "/ca.pem" });
    expect(tlsOf("postgres://127.0.0.1/db?sslrootcert=ca.pem")).toMatch(/sslrootcert/);
  });
});
