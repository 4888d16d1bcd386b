/**
 * A race: our attempt to create a folder fails because its parent is missing. Another process creates the parent before
 * we check for it.
 */
import { dirname, join } from "node:path";
import { afterEach, expect, it, vi } from "vitest";
import { openOutputFolder } from "../../src/files/output-folder.ts";
import { newFolder, removeFolders } from "./folders.ts";

const race = vi.hoisted(() => ({ path: "" }));

vi.mock("node:fs/promises", async (importOriginal) => {
  const real = await importOriginal<typeof import("node:fs/promises")>();
  return {
    ...real,
    mkdir: async (path: string, options: { mode: number }) => {
      if (path !== race.path) return await real.mkdir(path, options);
      race.path = "";
      await real.mkdir(dirname(path));
      throw Object.assign(new Error("no such folder"), { code: "ENOENT" });
    },
  };
});

afterEach(removeFolders);

it("a folder whose parent another process creates meanwhile is created nevertheless", async () => {
  const path = join(newFolder(), "out", ".parts");
  race.path = path;
  const folder = await openOutputFolder(path);
  await expect(folder.ensureWritable()).resolves.toBeUndefined();
  expect(race.path).toBe("");
});
