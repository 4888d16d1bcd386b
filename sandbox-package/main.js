#!/usr/bin/env node
/** Starts audio-generation-mcp with the sandbox, whose packages this one brings along; other arguments pass as they are. */
if (process.argv.length === 2) process.argv.push("--sandbox");
await import("audio-generation-mcp");
