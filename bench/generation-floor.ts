/** The least that a generation of 1 MiB can take here: the same requests, flushes and hash, and nothing else. */
import { createHash } from "node:crypto";
import { closeSync, fsyncSync, openSync, renameSync, writeSync } from "node:fs";
import { Agent, request } from "node:http";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { z } from "zod";
import { openPlace, type Place } from "./place.ts";

const PATH = "/api/v1/audio/generations";

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

interface Generator {
  generate(name: string): Promise<void>;
  close(): void;
}

function openGenerator(place: Place, pollGridMs: number): Generator {
  const agent = new Agent({ keepAlive: true });
  const ledger = new DatabaseSync(join(place.root, "floor.sqlite"));
  ledger.exec(
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE rows (id TEXT PRIMARY KEY, value TEXT)",
  );
  const put = ledger.prepare("INSERT OR REPLACE INTO rows VALUES (?, ?)");

  function ask(method: "GET" | "POST", path: string, body?: string, key = ""): Promise<Buffer> {
    const headers = {
      authorization: `Bearer ${place.apiKey}`,
      ...(body === undefined ? {} : { "content-type": "application/json", "idempotency-key": key }),
    };
    return new Promise((resolve, reject) => {
      const asked = request(new URL(path, place.baseUrl), { agent, method, headers }, (answer) => {
        const chunks: Buffer[] = [];
        answer.on("data", (chunk: Buffer) => chunks.push(chunk));
        answer.on("end", () => resolve(Buffer.concat(chunks)));
      });
      asked.on("error", reject);
      asked.end(body);
    });
  }

  return {
    async generate(name) {
      put.run(name, "waiting".padEnd(2000));
      const created = await ask("POST", PATH, JSON.stringify({ prompt: name }), `${name}-${process.pid}`);
      const { id } = z.object({ id: z.string() }).parse(JSON.parse(created.toString()));
      put.run(name, id.padEnd(2000));
      await pause(pollGridMs);
      await ask("GET", `${PATH}/${id}`);
      const audio = await ask("GET", `${PATH}/${id}/content`);
      const sha256 = createHash("sha256").update(audio).digest("hex");
      const draft = join(place.root, `.${name}`);
      const file = openSync(draft, "w");
      writeSync(file, audio);
      fsyncSync(file);
      closeSync(file);
      renameSync(draft, join(place.root, name));
      put.run(name, sha256.padEnd(2000));
    },
    close() {
      agent.destroy();
      ledger.close();
    },
  };
}

/** Milliseconds of each of so many generations, one after the other. */
export async function leastGenerations(rounds: number, pollGridMs: number): Promise<number[]> {
  const place = await openPlace(1024 * 1024);
  const generator = openGenerator(place, pollGridMs);
  try {
    const took: number[] = [];
    for (let round = -2; round < rounds; round += 1) {
      // Create slots refill every 60 ms at this scale.
      await pause(70);
      const beganAt = performance.now();
      await generator.generate(`floor-${round}`);
      if (round >= 0) took.push(performance.now() - beganAt);
    }
    return took;
  } finally {
    generator.close();
    await place.remove();
  }
}
