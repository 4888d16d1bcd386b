/** Which accounts files are read, and the messages about faulty ones. */
import { execFileSync } from "node:child_process";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readAccountsFile } from "../../../src/sandbox/accounts/accounts-file.ts";
import { SandboxUsageError } from "../../../src/sandbox/sandbox-errors.ts";
import { ON_WINDOWS, skipBecause } from "../../support/skip-because.ts";
import { temporaryFolder } from "../test-sandbox.ts";

const account = { id: "studio", keys: [{ key: "sk-1", active: true }], grants: [] };

async function faultOf(content: unknown): Promise<string> {
  const path = join(await temporaryFolder(), "accounts.json");
  await writeFile(path, typeof content === "string" ? content : JSON.stringify(content));
  const error: unknown = await readAccountsFile(path).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(SandboxUsageError);
  return error instanceof Error ? error.message : "";
}

describe("accounts file", () => {
  it("reads the documented shape, and adds defaults for omitted members", async () => {
    const path = join(await temporaryFolder(), "accounts.json");
    const grant = { kind: "subscription", credits: 1000, state: "paid", expires_at: "2027-01-01T00:00:00Z" };
    const written = {
      accounts: [
        { ...account, grants: [grant] },
        { id: "other", keys: [{ key: "sk-2" }], grants: [{ kind: "gift", credits: 5 }] },
      ],
    };
    await writeFile(path, `\uFEFF${JSON.stringify(written)}`);
    expect((await readAccountsFile(path)).accounts).toEqual([
      { ...account, grants: [grant] },
      {
        id: "other",
        keys: [{ key: "sk-2", active: true }],
        grants: [{ kind: "gift", credits: 5, state: "paid" }],
      },
    ]);
  });

  it("says in one sentence that it is missing or cannot be read", async () => {
    const folder = await temporaryFolder();
    await expect(readAccountsFile(join(folder, "none.json"))).rejects.toThrow(
      /^The accounts file ".*none\.json" does not exist\.$/,
    );
    await mkdir(join(folder, "folder"));
    await expect(readAccountsFile(join(folder, "folder"))).rejects.toThrow(/cannot be read\.$/);
  });

  it.each([
    ["not JSON", "{", /is not valid JSON\.$/],
    ["no accounts", {}, /is not valid at accounts: /],
    ["a new field", { accounts: [{ ...account, credits: 5 }] }, /is not valid at accounts\[0\]: .*credits/],
    ["no keys", { accounts: [{ ...account, keys: [] }] }, /accounts\[0\]\.keys/],
    ["a key with a space", { accounts: [{ ...account, keys: [{ key: "a b" }] }] }, /keys\[0\]\.key: must be/],
    ["accounts of one id", { accounts: [account, { ...account, keys: [{ key: "x" }] }] }, /"studio" occurs/],
    ["a key in two accounts", { accounts: [account, { ...account, id: "b" }] }, /same key occurs twice/],
    ["no key", { accounts: [{ ...account, keys: [{ key: "x", active: false }] }] }, /no active|no account/],
    [
      "a bad date",
      { accounts: [{ ...account, grants: [{ kind: "pack", credits: 1, expires_at: "soon" }] }] },
      /grants\[0\]\.expires_at/,
    ],
    [
      "fractional credits",
      { accounts: [{ ...account, grants: [{ kind: "pack", credits: 1.5 }] }] },
      /grants\[0\]\.credits/,
    ],
  ])("names the fault: %s", async (_, content, message) => {
    const fault = await faultOf(content);
    expect(fault).toMatch(message);
    expect(fault).not.toContain("\n");
  });

  it("refuses a pipe at once", skipBecause(ON_WINDOWS), async () => {
    const pipe = join(await temporaryFolder(), "pipe");
    execFileSync("mkfifo", [pipe]);
    await expect(readAccountsFile(pipe)).rejects.toThrow(/is not a regular file and cannot be read\.$/);
  });

  it("does not repeat a key in its message", async () => {
    expect(await faultOf({ accounts: [account, { ...account, id: "b" }] })).not.toContain("sk-1");
  });
});
