import { SqliteEngine } from "../sqlite/sqlite-engine.ts";
export class PostgresEngine extends SqliteEngine {
  constructor(_options: { storeUrl: string; log: unknown }) {
    super({ stateDir: "/nowhere", clock: { steadyMs: () => 0 } });
  }
}
