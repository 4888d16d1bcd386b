/** Owns the bin's first steps: checks Node, picks the command; imports nothing before that, so that an old Node can say so. */

const REQUIRED_MAJOR = 22;
const REQUIRED_MINOR = 19;

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);

if (major < REQUIRED_MAJOR || (major === REQUIRED_MAJOR && minor < REQUIRED_MINOR)) {
  process.stderr.write(
    `audio-generation-mcp needs Node.js ${REQUIRED_MAJOR}.${REQUIRED_MINOR} or newer, and this is ${process.versions.node}: install a current one and start it again.\n`,
  );
  process.exit(1);
} else {
  const args = process.argv.slice(2);
  // The usual start, with no argument, loads the server alone.
  const { run } = args.length === 0 ? await import("./commands/serve.ts") : await import("./commands/cli.ts");
  await run(args);
}

export {};
