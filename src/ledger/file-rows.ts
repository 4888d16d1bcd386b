/** Reads and writes the rows of files. A file belongs to a request or to a narration; the newest row of a path has it. */
import { type Insertable, sql } from "kysely";
import { type Db, splitRows } from "./database.ts";
import { isVisible, type Ledger } from "./ledger.ts";
import type { FileRow } from "./schema.ts";

// ---- reading ----

/** Lists the files of owners, the newest first. */
export async function listFiles({ database }: Ledger, owners: readonly string[]): Promise<FileRow[]> {
  const files: FileRow[] = [];
  for (const some of splitRows(owners)) {
    const found = await database.run((db) =>
      db.selectFrom("agm_file").selectAll().where("owner", "in", some).execute(),
    );
    files.push(...found);
  }
  return files.sort((a, b) => b.saved_at_ms - a.saved_at_ms);
}

/** Lists what was saved at some paths, whoever saved it, the oldest first. */
export async function listSavedAt(
  { database }: Ledger,
  paths: readonly string[],
): Promise<Array<Pick<FileRow, "path" | "sha256" | "owner" | "saved_at_ms">>> {
  const saved = [];
  for (const some of splitRows(paths)) {
    const rows = await database.run((db) =>
      db
        .selectFrom("agm_file")
        .select(["path", "sha256", "owner", "saved_at_ms"])
        .where("path", "in", some)
        .orderBy("saved_at_ms")
        .execute(),
    );
    saved.push(...rows);
  }
  return saved;
}

/** Finds the files that rows say were saved at a path, the newest first. Only visible owners count. */
export const findFilesAt = (ledger: Ledger, path: string): Promise<FileRow[]> =>
  ledger.database.run((db) =>
    db
      .selectFrom("agm_file")
      .selectAll()
      .where("path", "=", path)
      .where((eb) =>
        eb.or([
          eb.exists(
            eb
              .selectFrom("agm_request")
              .select("agm_request.id")
              .whereRef("agm_request.id", "=", "agm_file.owner")
              .where(isVisible(ledger, "agm_request.api_key_id")),
          ),
          eb.exists(
            eb
              .selectFrom("agm_narration")
              .select("agm_narration.id")
              .whereRef("agm_narration.id", "=", "agm_file.owner")
              .where(isVisible(ledger, "agm_narration.api_key_id")),
          ),
        ]),
      )
      .orderBy("saved_at_ms", "desc")
      .execute(),
  );

/** Reads the files of an owner, the newest first. */
export const selectFiles = (db: Db, owner: string): Promise<FileRow[]> =>
  db.selectFrom("agm_file").selectAll().where("owner", "=", owner).orderBy("saved_at_ms", "desc").execute();

/** Lists the files of one chapter of a narration, the newest first. */
export const listChapterFiles = (ledger: Ledger, owner: string, chapter: number | null): Promise<FileRow[]> =>
  ledger.database.run((db) =>
    db
      .selectFrom("agm_file")
      .selectAll()
      .where("owner", "=", owner)
      .where("chapter", chapter === null ? "is" : "=", chapter)
      .orderBy("saved_at_ms", "desc")
      .execute(),
  );

// ---- writing ----

/** Notes a published file. The same file of the same owner is one row. */
export async function insertFile(db: Db, file: Insertable<FileRow>): Promise<void> {
  await db
    .deleteFrom("agm_file")
    .where("owner", "=", file.owner)
    .where("path", "=", file.path)
    .where(sql<boolean>`kind = ${file.kind}`)
    .execute();
  await db.insertInto("agm_file").values(file).execute();
}

/** Notes a joined file and what lies beside it. */
export const saveFiles = (ledger: Ledger, files: readonly FileRow[]): Promise<unknown> =>
  ledger.database.tx(async (tx) => {
    for (const file of files) await insertFile(tx, file);
  });

/** Deletes rows of files that were removed or replaced. */
export const deleteFiles = (ledger: Ledger, files: readonly FileRow[]): Promise<unknown> =>
  ledger.database.tx(async (tx) => {
    for (const { owner, path, sha256 } of files) {
      await tx
        .deleteFrom("agm_file")
        .where("owner", "=", owner)
        .where("path", "=", path)
        .where("sha256", "=", sha256)
        .execute();
    }
  });

/** Notes audio of a request in place of audio that was shorter than the service stated. */
export async function replaceShortAudio(db: Db, audio: FileRow): Promise<void> {
  await db
    .deleteFrom("agm_file")
    .where("owner", "=", audio.owner)
    .where("kind", "=", "audio")
    .where("seconds", "is not", null)
    .execute();
  await insertFile(db, audio);
}

/** Deletes the rows of an owner's file by the hash of its content. */
export const deleteFilesByHash = (db: Db, owner: string, sha256: string): Promise<unknown> =>
  db.deleteFrom("agm_file").where("owner", "=", owner).where("sha256", "=", sha256).execute();
