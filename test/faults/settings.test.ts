/** Wrong settings: the server starts, names what is wrong, and says how to correct it. */
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { configurationError, readConfig } from "../../src/config/config.ts";
import { VOICE_IDS } from "../../src/contract/voices.ts";
import { errorOf, generate, resultTextOf } from "../support/tool-result.ts";
import { closeAfterEach, openFaultSetup } from "./fault-setup.ts";
import { RawServer } from "./raw-server.ts";

closeAfterEach();

type Environment = Parameters<typeof readConfig>[0];

const GOOD = { AUDIO_BASE_URL: "https://audio.example.com", AUDIO_API_KEY: "sk-good-0123456789" };
const LOCAL = { ...GOOD, AUDIO_BASE_URL: "http://127.0.0.1:8080" };

/** Each row: a wrong setting, its variable, which must be named, its value, what the fix must say, and other settings. */
const BAD: Array<[string, string, string | undefined, RegExp, Environment?]> = [
  ["no address", "AUDIO_BASE_URL", undefined, /such as https:/],
  ["an empty address", "AUDIO_BASE_URL", "  ", /such as https:/],
  ["an address that is none", "AUDIO_BASE_URL", "audio.example.com", /such as https:/],
  ["plain http", "AUDIO_BASE_URL", "http://audio.example.com", /Use https/],
  ["plain http to a name like this machine", "AUDIO_BASE_URL", "http://localhost.evil.com", /Use https/],
  ["plain http to the local network", "AUDIO_BASE_URL", "http://10.0.0.1", /Use https/],
  ["another scheme", "AUDIO_BASE_URL", "ftp://audio.example.com", /Use https/],
  ["a key inside the address", "AUDIO_BASE_URL", "https://u:p@audio.example.com", /AUDIO_API_KEY/],
  ["a query in the address", "AUDIO_BASE_URL", "https://audio.example.com/?a=1", /such as/],
  ["no key", "AUDIO_API_KEY", "", /active API key/],
  ["the key of the instructions", "AUDIO_API_KEY", "your-api-key", /active API key/],
  ["an address as the key", "AUDIO_API_KEY", "https://audio.example.com", /address into AUDIO_BASE_URL/],
  ["a key with a line break", "AUDIO_API_KEY", "sk\nX-Evil: 1", /active API key/],
  ["a key in another script", "AUDIO_API_KEY", "ключ", /active API key/],
  ["a relative output folder", "AUDIO_OUTPUT_DIR", "audio", /absolute path/],
  ["somebody else's home", "AUDIO_OUTPUT_DIR", "~root/audio", /absolute path/],
  ["a relative state folder", "AUDIO_STATE_DIR", "./state", /absolute path/],
  [
    "a store of another kind",
    "AUDIO_STORE_URL",
    "redis://host:6379",
    /Redis is no longer supported\..*postgres:\/\/user:password@host/,
  ],
  [
    "a store without TLS off this machine",
    "AUDIO_STORE_URL",
    "postgres://u:p@db.example/audio?sslmode=disable",
    /sslmode=verify-full/,
  ],
  [
    "a store with a parameter that nobody reads",
    "AUDIO_STORE_URL",
    "postgres://u:p@db.example/audio?application_name=x",
    /sslmode and sslrootcert/,
  ],
  ["a store that is not a URL", "AUDIO_STORE_URL", "localhost", /Unset/],
  ["an unknown voice", "AUDIO_DEFAULT_VOICE", "bob", /stokie_en/],
  ["a wait in words", "AUDIO_WAIT_SECONDS", "soon", /0 to 3600/],
  ["a negative wait", "AUDIO_WAIT_SECONDS", "-1", /0 to 3600/],
  ["a wait without end", "AUDIO_WAIT_SECONDS", "Infinity", /0 to 3600/],
  ["a wait in hexadecimal", "AUDIO_WAIT_SECONDS", "0x10", /0 to 3600/],
  ["polls closer than 5 s away from here", "AUDIO_POLL_INTERVAL_SECONDS", "1", /5 to/],
  ["no time between polls", "AUDIO_POLL_INTERVAL_SECONDS", "0", /0\.01 to/, LOCAL],
  ["half a credit", "AUDIO_CREDIT_BUDGET", "0.5", /whole number/],
  ["a budget in words", "AUDIO_CREDIT_BUDGET", "lots", /whole number/],
  ["an unknown log level", "AUDIO_LOG_LEVEL", "loud", /debug, info/],
  ["a time scale away from here", "AUDIO_TIME_SCALE", "0.5", /Unset/],
  ["a time scale of nothing", "AUDIO_TIME_SCALE", "0", /0\.001 to 1/, LOCAL],
  ["a proxy of another kind", "HTTPS_PROXY", "socks5://proxy", /%25.*unset it/],
  ["a proxy without a host", "HTTPS_PROXY", "http://", /http:\/\/user/],
  ["a proxy with an impossible port", "HTTPS_PROXY", "proxy:99999", /http:\/\/user/],
  ["a proxy in quotes", "HTTPS_PROXY", '"http://proxy:8080"', /http:\/\/user/],
  ["a key in quotes", "AUDIO_API_KEY", '"sk-good-0123456789"', /active API key/],
  ["half a pair of quotes", "AUDIO_API_KEY", "sk-good-0123456789'", /active API/],
  ["a variable's name for a key", "AUDIO_API_KEY", "$MY_KEY", /active API key/],
  ["its name on Windows", "AUDIO_API_KEY", "%MY_KEY%", /active API key/],
  ["a template for a key", "AUDIO_API_KEY", "<your key>", /active API key/],
  ["a whole line for a key", "AUDIO_API_KEY", "AUDIO_API_KEY=sk-1", /active API/],
  ["what JavaScript writes for none", "AUDIO_API_KEY", "undefined", /active API/],
  ["what Python writes for none", "AUDIO_BASE_URL", "None", /such as https:/],
  ["a header for a key", "AUDIO_API_KEY", "Bearer sk-good", /active API key/],
  ["an address in quotes", "AUDIO_BASE_URL", "'https://x.org'", /such as https:/],
  ["a variable's name for an address", "AUDIO_BASE_URL", "$URL", /such as https:/],
  ["a store in quotes", "AUDIO_STORE_URL", '"postgres://h/d"', /Unset/],
];

it.each(BAD)(
  "a wrong setting (%s) is one fault that names the variable and its fix",
  (_what, variable, value, fix, more = GOOD) => {
    const { issues } = readConfig({ ...more, [variable]: value }, "linux", "/home/someone");
    expect(issues.map((fault) => fault.variable)).toEqual([variable]);
    expect(issues[0]?.message).toContain(variable);
    expect(issues[0]?.fix).toMatch(fix);
  },
);

it("a wrong setting does not hide the others: the running server reports all at once, and sends nothing", async () => {
  const wrong = BAD.filter(([, variable, , , more = GOOD]) => variable !== "AUDIO_BASE_URL" && more === GOOD);
  const env = Object.fromEntries(wrong.map(([, variable, value]) => [variable, value ?? ""]));
  const setup = await openFaultSetup({
    env: { ...GOOD, ...env, AUDIO_STATE_DIR: "./state", AUDIO_API_KEY: "sk\u00fc" },
  });
  const outcome = await setup.server.call("generate_audio", { prompt: "x" });
  expect(errorOf(outcome)).toMatchObject({
    code: "configuration_error",
    http_status: null,
    retryable: false,
  });
  for (const [, variable] of wrong) expect(resultTextOf(outcome)).toContain(variable);
  expect(setup.service.exchanges).toEqual([]);
});

describe("a proxy of the environment", () => {
  it.each([
    ["http://proxy:8080", "http://proxy:8080"],
    ["https://proxy.corp", "https://proxy.corp"],
    ["HTTP://PROXY:8080/", "http://proxy:8080"],
    ["proxy.corp:8080", "http://proxy.corp:8080"],
    ["10.0.0.1", "http://10.0.0.1"],
    ["//proxy:8080", "http://proxy:8080"],
    ["[::1]:3128", "http://[::1]:3128"],
    ["user:pw@proxy:8080", "http://user:pw@proxy:8080"],
    ["http://user@proxy", "http://user:@proxy"],
    ["http://user:100%off@proxy", "http://user:100%25off@proxy"],
    ["http://user:100%25off@proxy", "http://user:100%25off@proxy"],
    ["http://user:%@proxy", "http://user:%25@proxy"],
    ["http://user:%E9%41@proxy", "http://user:%25E9%2541@proxy"],
    ["http://DOMAIN\\user:pw@proxy:8080", "http://DOMAIN%5Cuser:pw@proxy:8080"],
    ["DOMAIN%5Cuser:pw@proxy:8080", "http://DOMAIN%5Cuser:pw@proxy:8080"],
    ["http://user:p@ss:w/o?r#d@proxy:8080", "http://user:p%40ss%3Aw%2Fo%3Fr%23d@proxy:8080"],
    ["http://us er:pä ss@proxy", "http://us%20er:p%C3%A4%20ss@proxy"],
  ])("is used as it is meant: %s", (text, proxyUrl) => {
    expect(readConfig({ ...GOOD, HTTPS_PROXY: text })).toMatchObject({
      proxy: { variable: "HTTPS_PROXY", url: proxyUrl },
      issues: [],
    });
  });

  it.each([
    "audio.example.com",
    "AUDIO.example.com:443",
    ".example.com",
    "*.example.com",
    "x, example.com y",
    "*",
  ])("is not used for a host in NO_PROXY: %s", (noProxy) => {
    const env = { ...GOOD, HTTPS_PROXY: "http://proxy", no_proxy: noProxy };
    expect(readConfig(env)).toMatchObject({ proxy: null, issues: [] });
  });

  it.each([
    ["10.20.30.40", "10.0.0.0/8"],
    ["10.20.30.40", "192.168.0.0/16,10.20.30.40/32"],
    ["10.20.30.40", "::ffff:10.20.30.40"],
    ["10.20.30.40:8443", "10.16.0.0/12:8443"],
    ["172.31.255.255", "172.16.0.0/12"],
    ["169.254.1.1", "0.0.0.0/0"],
    ["[fd12::1]", "fd00::/8"],
    ["[fd12::1]", "[fd12::]/16"],
    ["[fd12::1]:8443", "[fd12::1]:8443"],
    ["[::1]", "0:0:0:0:0:0:0:1"],
    ["[::1]", "::1/128"],
    ["localhost.", "localhost"],
    ["audio.corp", "*corp;other"],
  ])("is not used for %s, which NO_PROXY excludes by %s", (host, noProxy) => {
    const env = {
      ...GOOD,
      AUDIO_BASE_URL: `https://${host}`,
      HTTPS_PROXY: "http://proxy",
      NO_PROXY: noProxy,
    };
    expect(readConfig(env)).toMatchObject({ proxy: null, issues: [] });
  });

  it.each([
    ["10.20.30.40", "10.0.0.0/16"],
    ["10.20.30.40", "10.0.0.0/33"],
    ["10.20.30.40", "fd00::/8"],
    ["10.20.30.40:8443", "10.0.0.0/8:443"],
    ["[fd12::1]", "fe80::/10"],
    ["[fd12::1]", "fd12::1/"],
    ["ten.example.org", "10.0.0.0/8"],
    ["audio.corp", "."],
  ])("is used for %s, which NO_PROXY does not exclude by %s", (host, noProxy) => {
    const env = {
      ...GOOD,
      AUDIO_BASE_URL: `https://${host}`,
      HTTPS_PROXY: "http://proxy",
      NO_PROXY: noProxy,
    };
    expect(readConfig(env).proxy?.url).toBe("http://proxy");
  });

  it.each(["example.org", "audio.example.com:8443", "ample.com", "::1"])(
    "is used for a host that NO_PROXY does not name: %s",
    (noProxy) => {
      const env = { ...GOOD, HTTPS_PROXY: "http://proxy", NO_PROXY: noProxy };
      expect(readConfig(env).proxy?.url).toBe("http://proxy");
    },
  );

  it.each<[string, Environment]>([
    ["an address on this machine", LOCAL],
    ["a host in NO_PROXY", { ...GOOD, NO_PROXY: "audio.example.com" }],
  ])("is no issue for %s, whatever it is", (_what, env) => {
    for (const text of ["proxy.corp:8080", "socks5://proxy", "http://", "$PROXY", "http://u:%@proxy"]) {
      expect(readConfig({ ...env, http_proxy: text })).toMatchObject({ proxy: null, issues: [] });
    }
  });
});

it.each(["", "   ", "$" + "{user_config.anything}", "$" + "{AUDIO_X}", "$" + "{}"])(
  "a setting that the client left empty (%j) counts as unset",
  (unset) => {
    const names = [
      "AUDIO_OUTPUT_DIR",
      "AUDIO_STATE_DIR",
      "AUDIO_STORE_URL",
      "AUDIO_DEFAULT_VOICE",
      "AUDIO_WAIT_SECONDS",
      "AUDIO_POLL_INTERVAL_SECONDS",
      "AUDIO_CREDIT_BUDGET",
      "AUDIO_LOG_LEVEL",
      "AUDIO_TIME_SCALE",
      "HTTPS_PROXY",
      "NO_PROXY",
    ];
    const env = { ...GOOD, ...Object.fromEntries(names.map((name) => [name, unset])) };
    const config = readConfig(env, "linux", "/home/someone");
    expect(config).toEqual(readConfig(GOOD, "linux", "/home/someone"));
    expect(config).toMatchObject({
      outputDir: "/home/someone/audio-generation",
      stateDir: "/home/someone/.local/state/audio-generation-mcp",
      waitSeconds: 45,
      pollIntervalSeconds: 5,
      creditBudget: null,
      logLevel: "warn",
      issues: [],
    });
  },
);

it.each([
  ["address", { AUDIO_BASE_URL: "$" + "{user_config.base_url}", AUDIO_API_KEY: "k" }, ["AUDIO_BASE_URL"]],
  [
    "key",
    { AUDIO_BASE_URL: GOOD.AUDIO_BASE_URL, AUDIO_API_KEY: "$" + "{user_config.api_key}" },
    ["AUDIO_API_KEY"],
  ],
  ["address and key", {}, ["AUDIO_BASE_URL", "AUDIO_API_KEY"]],
])(
  "a setting that the client left empty (%s) lets the server start and list voices, and every other call names what is missing",
  async (_what, env, missing) => {
    const setup = await openFaultSetup();
    const bare = {
      PATH: process.env["PATH"] ?? "",
      HOME: setup.testFolders.root,
      AUDIO_STATE_DIR: setup.testFolders.stateDir,
    };
    const server = await RawServer.start({ ...bare, ...env });
    try {
      expect((await server.call("list_voices", {})).structuredContent).toMatchObject({
        count: VOICE_IDS.length,
      });
      for (const [tool, args] of [
        ["generate_audio", { prompt: "x" }],
        ["get_task", { task_id: "x" }],
        ["download_audio", { task_id: "x" }],
        ["list_tasks", {}],
      ] as const) {
        const outcome = await server.call(tool, args);
        expect(errorOf(outcome)).toMatchObject({ code: "configuration_error", retryable: false });
        for (const name of missing)
          expect(resultTextOf(outcome)).toContain(`${name} is not set. Set ${name} to`);
        expect(resultTextOf(outcome)).toMatch(/restart/);
      }
    } finally {
      expect(await server.end()).toMatchObject({ code: 0, signal: null });
    }
  },
);

it("a misspelt setting is logged once, at the first use of a tool, without its value", async () => {
  const setup = await openFaultSetup();
  const server = await setup.another({ AUDIO_LOG_LEVEL: "warn", AUDIO_WAIT_SECOND: "secret-word" });
  await server.call("list_voices", {});
  expect(server.stderr).toBe("");
  await server.call("list_tasks", {});
  await server.call("list_tasks", {});
  expect(server.stderr).toMatch(
    /^\S+Z audio-generation-mcp warn: AUDIO_WAIT_SECOND is set, but there is no such setting; AUDIO_WAIT_SECONDS is one\.\n$/,
  );
});

it("a misspelt setting is named in the error about what is missing", async () => {
  const config = readConfig({ ...GOOD, AUDIO_API_KEY: "", AUDIO_KEY: "k" }, "linux", "/h");
  expect(configurationError(config).message).toMatch(
    /AUDIO_API_KEY is not set\. .*AUDIO_KEY is set, but there is no such setting; AUDIO_API_KEY is one\. Nothing was sent/,
  );
});

it("a folder of the settings that cannot be written with --sandbox is reported with the setting that corrects it", async () => {
  const setup = await openFaultSetup();
  const file = join(setup.testFolders.outputDir, "file");
  await mkdir(setup.testFolders.outputDir, { recursive: true });
  await writeFile(file, "x");
  const server = await setup.another({ AUDIO_STATE_DIR: join(file, "state") }, { args: ["--sandbox"] });
  const outcome = await server.call("generate_audio", { prompt: "Nowhere to keep books" });
  expect(errorOf(outcome).code).toBe("store_unavailable");
  expect(resultTextOf(outcome)).toContain(`${join(file, "state")} (AUDIO_STATE_DIR)`);
  expect(resultTextOf(outcome)).not.toContain("AUDIO_OUTPUT_DIR");
  await rm(file);
  expect(errorOf(await server.call("get_task", { task_id: "none" })).code).toBe("not_found");
});

describe("a password of the settings", () => {
  const proxy = (password: string) => ({ HTTPS_PROXY: `http://someone:${password}@127.0.0.1:9` });

  it("that is an ordinary word can be read aloud, but not in its URL", async () => {
    const setup = await openFaultSetup({ env: proxy("narration") });
    const task = await generate(setup.server, { prompt: "A calm narration of the sea" });
    expect(task.status).toBe("succeeded");
    for (const prompt of [
      "Use http://someone:narration@127.0.0.1:9 for it",
      `Basic ${Buffer.from("someone:narration").toString("base64")}`,
      `The key is ${setup.service.apiKey}`,
    ]) {
      const outcome = await setup.server.call("generate_audio", { prompt });
      expect(errorOf(outcome).code).toBe("invalid_request");
      expect(resultTextOf(outcome)).toMatch(/API key or a password/);
    }
    expect(setup.service.count("create")).toBe(1);
  });

  it("that cannot be ordinary text is refused wherever it stands", async () => {
    const setup = await openFaultSetup({ env: proxy("Xk29vQ81mmzP") });
    const outcome = await setup.server.call("generate_audio", { prompt: "Say Xk29vQ81mmzP aloud" });
    expect(errorOf(outcome).code).toBe("invalid_request");
    expect(setup.service.count("create")).toBe(0);
  });
});

it.each<[string, Environment]>([
  ["a path in the address", { ...GOOD, AUDIO_BASE_URL: "https://audio.example.com/tenant/a/" }],
  ["http to this machine", { ...LOCAL, AUDIO_BASE_URL: "http://[::1]:9000" }],
  ["fractions", { ...LOCAL, AUDIO_WAIT_SECONDS: ".5", AUDIO_POLL_INTERVAL_SECONDS: "0.25" }],
  ["no budget at all", { ...GOOD, AUDIO_CREDIT_BUDGET: "0" }],
  ["the home folder", { ...GOOD, AUDIO_OUTPUT_DIR: "~/Audio", AUDIO_STATE_DIR: "~" }],
  ["a password with a percent sign", { ...GOOD, AUDIO_STORE_URL: "postgres://u:50%zz@host:6379" }],
])("a setting that only looks wrong (%s) is accepted", (_what, env) => {
  expect(readConfig(env, "linux", "/home/someone").issues).toEqual([]);
});

it("a setting that only looks wrong (a password with a percent sign) does not keep the server from starting", async () => {
  const setup = await openFaultSetup();
  const server = await setup.another({ AUDIO_STORE_URL: "postgres://u:50%zz@127.0.0.1:1" });
  expect((await server.call("list_voices", {})).structuredContent).toMatchObject({
    count: VOICE_IDS.length,
  });
  const outcome = await server.call("generate_audio", { prompt: "x", wait_seconds: 1 });
  expect(errorOf(outcome).code).toBe("store_unavailable");
  expect(resultTextOf(outcome)).not.toContain("50%zz");
  expect(setup.service.exchanges).toEqual([]);
});
