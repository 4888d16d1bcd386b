/** The rules about queries and downloads (docs/contract.md, Query and Download). */
import { expect } from "vitest";
import { looksLikeFormat } from "../../../src/contract/audio-format.ts";
import { GENERATIONS_PATH } from "../../../src/contract/wire.ts";
import type { RuleBook } from "../rule-book.ts";
import { type Answer, answeredTaskOf, expectError, type ServiceClient } from "../service-client.ts";

export function readRules(book: RuleBook, client: ServiceClient): void {
  const { target } = client;
  let whole: Promise<Answer> | undefined;
  const wholeAudio = async (): Promise<Uint8Array> => {
    whole ??= client.mainTask().then(({ id }) => client.content(id));
    return (await whole).bytes;
  };
  const ranged = async (range: string): Promise<Answer> => {
    const { id } = await client.mainTask();
    return await client.content(id, { headers: { range } });
  };
  const expectPart = async (range: string, start: number, end: number): Promise<void> => {
    const audio = await wholeAudio();
    const answer = await ranged(range);
    expect(answer.status).toBe(206);
    expect(answer.headers.get("content-range")).toBe(`bytes ${start}-${end}/${audio.byteLength}`);
    expect(answer.headers.get("content-length")).toBe(String(end - start + 1));
    expect(answer.bytes).toEqual(audio.slice(start, end + 1));
  };
  const expectUnsatisfiable = async (range: string): Promise<void> => {
    const audio = await wholeAudio();
    const answer = await ranged(range);
    expect(answer.status).toBe(416);
    expect(answer.headers.get("content-range")).toBe(`bytes */${audio.byteLength}`);
  };

  book.rule("4.2", "a query is 200 with the task", async () => {
    const task = await client.mainTask();
    const answer = await client.query(task.id);
    expect(answer.status).toBe(200);
    expect(answeredTaskOf(answer)).toEqual(task);
  });
  book.rule("4.2", "a task that does not exist is 404 not_found", async () => {
    expectError(await client.query("aud_no_such_task"), 404, "not_found");
  });
  book.ruleWith(
    target.otherAccountKey,
    "a key of another account",
    "4.2",
    "another account's task is 404 not_found, as if it did not exist",
    async (apiKey) => {
      const { id } = await client.mainTask();
      expectError(await client.query(id, { apiKey }), 404, "not_found");
      expectError(await client.content(id, { apiKey }), 404, "not_found");
    },
  );

  book.rule("4.3 GET", "200 with the full audio as application/octet-stream", async () => {
    const { id } = await client.mainTask();
    const answer = await client.content(id);
    expect(answer.status).toBe(200);
    expect(answer.headers.get("content-type")).toMatch(/^application\/octet-stream/);
    expect(looksLikeFormat("mp3", answer.bytes)).toBe(true);
  });
  book.rule("4.3 HEAD", "metadata without a body", async () => {
    const { id } = await client.mainTask();
    const answer = await client.content(id, { method: "HEAD" });
    expect(answer.status).toBe(200);
    expect(answer.bytes.byteLength).toBe(0);
    expect(answer.headers.get("content-type")).toMatch(/^application\/octet-stream/);
  });
  book.rule("4.3 Range", "a single range is 206 with Content-Range and Content-Length", async () => {
    await expectPart("bytes=0-9", 0, 9);
    await expectPart("bytes=5-5", 5, 5);
  });
  book.rule(
    "4.3 Range",
    "a range without an end reaches to the last byte, and so does one past it",
    async () => {
      const last = (await wholeAudio()).byteLength - 1;
      await expectPart("bytes=10-", 10, last);
      await expectPart(`bytes=10-${last + 1000}`, 10, last);
    },
  );
  book.rule("4.3 Range", "a suffix range is the last bytes", async () => {
    const size = (await wholeAudio()).byteLength;
    await expectPart("bytes=-10", size - 10, size - 1);
  });
  book.rule("4.3 416", "a range that begins past the end is unsatisfiable", async () => {
    await expectUnsatisfiable(`bytes=${(await wholeAudio()).byteLength}-`);
  });
  book.rule("4.3 416", "an invalid range is refused", async () => {
    await expectUnsatisfiable("bytes=9-5");
    await expectUnsatisfiable("bytes=a-b");
  });
  book.rule("4.3 416", "several ranges are refused", async () => {
    await expectUnsatisfiable("bytes=0-1,4-5");
  });
  book.rule("4.3 Errors", "content of a task that does not exist is 404 not_found", async () => {
    expectError(await client.content("aud_no_such_task"), 404, "not_found");
  });

  book.rule("4.3.1", "downloads are not cached and do not redirect", async () => {
    const { id } = await client.mainTask();
    const answer = await client.content(id);
    expect(answer.headers.get("cache-control")).toMatch(/\bno-store\b/);
    expect(answer.status).toBe(200);
    expect(answer.headers.get("location")).toBeNull();
  });
  book.rule("4.3.2", "output.url is the content URL of the same site and holds no key", async () => {
    const { id, output } = await client.mainTask();
    expect(output?.url).toBe(`${target.baseUrl}${GENERATIONS_PATH}/${id}/content`);
    expect(output?.url).not.toContain(target.apiKey);
  });
  book.rule("4.3.2", "output.url needs the same bearer authentication", async () => {
    const { id } = await client.mainTask();
    expectError(await client.content(id, { apiKey: null }), 401, "invalid_api_key");
  });
  book.unobservable("4.3.4", "other headers of a download are not shown");
}
