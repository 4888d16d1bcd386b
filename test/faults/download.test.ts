/** Damaged downloads: the user gets exactly the service's bytes, or no file and a clear message. */
import { readFile } from "node:fs/promises";
import { join, parse } from "node:path";
import { describe, expect, it } from "vitest";
import { OUTPUT_FORMATS } from "../../src/contract/audio-format.ts";
import { encode } from "../../src/sandbox/speech/encode/encode.ts";
import { type Exchange, FakeService, type FakeTask } from "../support/fake-service.ts";
import { errorOf, generate, resultTextOf, taskOf } from "../support/tool-result.ts";
import { closeAfterEach, openFaultSetup, shareFaultSetup } from "./fault-setup.ts";
import { answerGzip, answerText, type Misbehaviour, refusing, sayAndHangUp } from "./wire.ts";

closeAfterEach();

function taskIn(service: FakeService, exchange: Exchange): FakeTask {
  const task = service.tasks.get(exchange.taskId ?? "");
  if (task === undefined) throw new Error("no such task");
  return task;
}

/** Sends the given headers and the audio's bytes from `from` to `to`, and then closes the connection. */
function part(
  status: string,
  from: number,
  to: number,
  headers: (size: number) => readonly string[],
  isReset = false,
): Misbehaviour {
  return (response, exchange, service) => {
    const { audio } = taskIn(service, exchange);
    const head = [`HTTP/1.1 ${status}`, "content-type: application/octet-stream", ...headers(audio.length)];
    const bytes = audio.subarray(from, to).toString("latin1");
    sayAndHangUp(response, `${head.join("\r\n")}\r\n\r\n${bytes}`, isReset);
  };
}

const length = (size: number): string[] => [`content-length: ${size}`];

/** The headers of audio. */
const AUDIO = { "content-type": "application/octet-stream" };

/** Four seconds of a tone, as long as the service states. */
const SOUND = Float32Array.from({ length: 4 * 24_000 }, (_, at) => Math.sin(at / 9) / 2);

const asAudio = (status: string, headers: readonly string[], body: Buffer): string =>
  `HTTP/1.1 ${[status, "content-type: audio/mpeg", ...headers].join("\r\n")}\r\n\r\n${body.toString("latin1")}`;

/** Ways in which an answer ends cleanly although it is not the whole. */
const CUTS: ReadonlyArray<readonly [string, (half: Buffer) => Misbehaviour]> = [
  ["a length", (half) => (r) => sayAndHangUp(r, asAudio("200 OK", [`content-length: ${half.length}`], half))],
  ["no length", (half) => (r) => sayAndHangUp(r, asAudio("200 OK", ["connection: close"], half))],
  [
    "chunks",
    (half) => (r) => {
      r.writeHead(200, AUDIO).write(half);
      r.end();
    },
  ],
  [
    "a range",
    (half) =>
      (r, { headers }) => {
        const from = Number(/\d+/.exec(headers.range ?? "")?.[0] ?? 0);
        const [to, size] = [from === 0 ? 4000 : half.length, half.length];
        const length = [`content-length: ${size - from}`, `content-range: bytes ${from}-${size - 1}/${size}`];
        sayAndHangUp(r, asAudio(from === 0 ? "200 OK" : "206 P", length, half.subarray(from, to)));
      },
  ],
];

const BREAKAGES: Array<[string, Misbehaviour]> = [
  ["is reset before its headers", (response) => sayAndHangUp(response, "", true)],
  ["is reset after its headers", part("200 OK", 0, 0, length, true)],
  ["ends after one byte", part("200 OK", 0, 1, length)],
  ["ends one byte early", part("200 OK", 0, 19_999, length)],
  ["is reset in the middle", part("200 OK", 0, 9000, length, true)],
  [
    "ends in the middle of a chunk",
    (r, exchange, service) => {
      const bytes = taskIn(service, exchange).audio.subarray(0, 600).toString("latin1");
      sayAndHangUp(
        r,
        `HTTP/1.1 200 OK\r\ncontent-type: application/octet-stream\r\ntransfer-encoding: chunked\r\n\r\n1000\r\n${bytes}`,
      );
    },
  ],
  ["is empty", (response) => response.writeHead(200, { ...AUDIO, "content-length": 0 }).end()],
  [
    "is an HTML page with 200",
    (r) => answerText(r, 200, "<html>Sign in</html>", { "content-type": "text/html" }),
  ],
  ["is a page of text", (r) => answerText(r, 200, "<html>Sign in</html>", { "content-type": "text/plain" })],
  ["is a page without a type with 200", (r) => r.writeHead(200).end("<html>Sign in</html>")],
  [
    "comes with an encoding that is stated twice",
    (r) => r.setHeader("content-encoding", ["gzip", "gzip"]).writeHead(200, AUDIO).end("not audio"),
  ],
  ["is a message with 200", (response) => answerText(response, 200, '{"error":"later"}')],
  [
    "is in gzip",
    (r, exchange, service) => answerGzip(r, 200, taskIn(service, exchange).audio.toString("hex")),
  ],
  [
    "is another part than was asked for",
    part("206 P", 100, 200, (size) => [`content-range: bytes 100-199/${size}`, "content-length: 100"]),
  ],
  [
    "is a part that contradicts itself",
    part("206 P", 0, 100, (size) => [`content-range: bytes 50-10/${size}`, "content-length: 100"]),
  ],
  [
    "is longer than it says",
    part("206 P", 0, 300, () => ["content-range: bytes 0-99/20000", "transfer-encoding: chunked"]),
  ],
  ["is a 416", (r) => r.writeHead(416, { "content-range": "bytes */20000" }).end()],
  ["is a 416 of another size", (r) => r.writeHead(416, { "content-range": "bytes */7" }).end()],
  ["is a 502 page", (response) => answerText(response, 502, "<html>Bad gateway</html>")],
  ["is not HTTP", (response) => sayAndHangUp(response, "OggS OggS OggS\r\n\r\n")],
  ["has headers of half a megabyte", part("200 OK", 0, 20_000, () => [`x: ${"y".repeat(2 ** 19)}`])],
];

describe("the whole audio is saved once, byte for byte, when the download", () => {
  const shared = shareFaultSetup();
  it.each(BREAKAGES)("%s", async (title, breakage) => {
    const setup = shared();
    setup.misbehaveNext("content", breakage, 2);
    const task = await generate(setup.server, { prompt: `Broken: ${title}` });
    const [createdTask] = setup.service.tasks.values();
    expect((await readFile(task.audio?.path ?? "")).equals(createdTask?.audio ?? Buffer.alloc(0))).toBe(true);
    const stem = parse(task.audio?.path ?? "?").name;
    const names = await setup.testFolders.outputNames();
    expect(names.filter((name) => name.startsWith(stem))).toEqual([`${stem}.mp3`]);
    expect(setup.service.tasks.size).toBe(1);
  });

  it.each<[string, string, string | undefined, string]>([
    ["pcm", "an HTML page", "application/octet-stream", "<!DOCTYPE html><title>Sign in</title>"],
    ["pcm", "a message called audio", "audio/L16", '{"error":{"code":"busy","message":"Later"}}'],
    ["pcm", "a message without a type", undefined, '{"error":"later"}'],
    ["mp3", "an XML page of an object store", "binary/octet-stream", "<?xml version='1.0'?><Error/>"],
    ["ogg_opus", "a page without a type", undefined, "\n<html>Sign in</html>"],
  ])("is for %s three times %s", async (format, what, type, page) => {
    const setup = shared();
    const answer: Misbehaviour = (response, exchange, service) => {
      // As long as the audio, so that its length reveals nothing.
      const body = page.padEnd(taskIn(service, exchange).audio.length);
      response.writeHead(200, type === undefined ? {} : { "content-type": type }).end(body);
    };
    setup.misbehaveNext("content", answer, 3);
    const call = {
      prompt: `For ${format} ${what}`,
      output_format: format,
      file_name: `page ${format} ${what}`,
    };
    const task = await generate(setup.server, call);
    const [createdTask] = setup.service.tasks.values();
    expect((await readFile(task.audio?.path ?? "")).equals(createdTask?.audio ?? Buffer.alloc(0))).toBe(true);
    const names = await setup.testFolders.outputNames();
    expect(names.filter((name) => name.startsWith(call.file_name))).toHaveLength(1);
  });

  it.each([
    ["mp3", "wav", "mp3"],
    ["wav", "mp3", "wav"],
    ["ogg_opus", "pcm", "ogg_opus"],
    ["pcm", "wav", "pcm"],
    ["mp3", "wav", "wav"],
    ["pcm", "ogg_opus", "ogg_opus"],
  ] as const)("was asked for as %s, is stated as %s and is %s", async (asked, stated, actual) => {
    const setup = shared();
    setup.misbehave(async (exchange, response, service) => {
      if (exchange.kind === "query") {
        const view = service.view(taskIn(service, exchange));
        const output = view["output"] === null ? null : { ...Object(view["output"]), format: stated };
        service.json(response, 200, { ...view, output });
      } else if (exchange.kind === "content" && actual !== asked) {
        response.writeHead(200, AUDIO).end((await encode(SOUND, actual, 24_000)).bytes);
      } else return false;
      return true;
    });
    const call = { prompt: `Asked ${asked}, stated ${stated}, got ${actual}`, output_format: asked };
    const outcome = await setup.server.call("generate_audio", call);
    const { audio } = taskOf(outcome);
    expect(audio?.path).toMatch(actual === "ogg_opus" ? /\.ogg$/ : new RegExp(`\\.${actual}$`));
    expect(resultTextOf(outcome)).toContain(`(${actual}, 24000 Hz`);
    expect(setup.service.count("content")).toBe(1);
    expect((await generate(setup.server, call)).audio?.path).toBe(audio?.path);
  });

  it("is of a task from outside whose stated format is wrong", async () => {
    const setup = shared();
    const headers = { authorization: `Bearer ${setup.service.apiKey}`, "idempotency-key": "outside" };
    const body = JSON.stringify({ prompt: "From outside" });
    await fetch(`${setup.service.baseUrl}/api/v1/audio/generations`, { method: "POST", headers, body });
    const [task_id] = setup.service.tasks.keys();
    setup.misbehave(async (exchange, response, service) => {
      if (exchange.kind !== "query") return false;
      const view = service.view(taskIn(service, exchange));
      service.json(response, 200, { ...view, output: { ...Object(view["output"]), format: "ogg_opus" } });
      return true;
    });
    const { audio } = taskOf(await setup.server.call("download_audio", { task_id, file_name: "outside" }));
    expect(audio).toMatchObject({ path: expect.stringMatching(/outside\.mp3$/), size_bytes: 20_000 });
  });

  it.each([
    ["404 not_found", 404, "not_found"],
    ["409 not_ready", 409, "not_ready"],
    ["409 without a known code", 409, "conflict"],
  ])("finds no audio for a while, although the task has succeeded: %s", async (title, status, code) => {
    const setup = shared();
    const missing: Misbehaviour = refusing(status, code);
    setup.misbehaveNext("content", missing, 4);
    const task = await generate(setup.server, { prompt: `It comes late: ${title}` });
    expect([task.status, setup.service.tasks.size]).toEqual(["succeeded", 1]);
    expect(task.audio?.size_bytes).toBe(20_000);
    setup.misbehaveAlways("content", missing);
    const call = { prompt: `It is not there: ${title}` };
    const late = await setup.server.call("generate_audio", { ...call, wait_seconds: 0.5 });
    expect(resultTextOf(late)).toMatch(/has succeeded; .*Cost 10 credits.*its audio is not there yet/s);
    const error = errorOf(await setup.server.call("download_audio", { task_id: taskOf(late).task_id }));
    expect(error).toMatchObject({ retryable: true, task_id: taskOf(late).task_id });
    setup.misbehave(undefined);
    const { audio } = await generate(setup.server, call);
    expect([audio?.size_bytes, setup.service.tasks.size]).toEqual([20_000, 2]);
  });

  // Each form of a cut in one format, and each format with one form.
  const cutsByFormat = OUTPUT_FORMATS.flatMap((format) =>
    CUTS.slice(0, format === "mp3" ? CUTS.length : 1).map(([form, cut]) => [form, format, cut] as const),
  );
  it.each(cutsByFormat)(
    "ends cleanly after half of what the task states, with %s, as %s",
    async (form, format, cut) => {
      const setup = shared();
      const { bytes } = await encode(SOUND, format, 24_000);
      const whole = Buffer.from(bytes);
      const deliver = (halves: number): void => {
        let served = 0;
        setup.misbehave((exchange, response, service) => {
          if (exchange.kind !== "content") return false;
          served += 1;
          if (served > halves) response.writeHead(200, AUDIO).end(whole);
          else cut(whole.subarray(0, whole.length / 2))(response, exchange, service);
          return true;
        });
      };
      // A resumed download has two answers; without a length, a second request asks whether the end was the end.
      deliver(form === "a length" || form === "chunks" ? 1 : 2);
      const call = { prompt: `Half of ${format} with ${form}`, output_format: format };
      expect((await generate(setup.server, call)).audio?.size_bytes).toBe(whole.length);

      deliver(Number.POSITIVE_INFINITY);
      const short = { prompt: `Always half of ${format} with ${form}`, output_format: format };
      const first = await setup.server.call("generate_audio", short);
      expect(resultTextOf(first)).toMatch(
        /cut: the file holds [12]\.\d s of 4\.0 s.*downloads it again, free/,
      );
      const { task_id } = taskOf(first);
      for (const [tool, args] of [
        ["generate_audio", short],
        ["get_task", { task_id, wait_seconds: 5 }],
        ["get_task", { task_id, wait_seconds: 0 }],
        ["download_audio", { task_id }],
      ] as const) {
        const downloads = setup.service.count("content");
        const again = await setup.server.call(tool, args);
        expect(resultTextOf(again), tool).toMatch(/cut: the file holds/);
        expect(setup.service.count("content"), tool).toBeGreaterThan(downloads);
      }
      deliver(0);
      const tool = format === "pcm" ? "generate_audio" : format === "wav" ? "download_audio" : "get_task";
      const args = tool === "generate_audio" ? short : { task_id };
      const mended = await setup.server.call(tool, args);
      expect(taskOf(mended).audio).toMatchObject({
        path: taskOf(first).audio?.path,
        size_bytes: whole.length,
      });
      expect(resultTextOf(mended)).not.toContain("cut");
      const calm = setup.service.count("content");
      for (const name of ["get_task", "download_audio"]) await setup.server.call(name, { task_id });
      expect([setup.service.count("content"), setup.service.tasks.size]).toEqual([calm, 2]);
    },
  );

  it("is cut again and again at different bytes: received bytes are not requested twice", async () => {
    const setup = shared();
    let served = 0;
    setup.misbehave((exchange, response, service) => {
      if (exchange.kind !== "content") return false;
      const { audio } = taskIn(service, exchange);
      const from = Number(/\d+/.exec(exchange.headers.range ?? "")?.[0] ?? 0);
      const to = Math.min(audio.length, from + 3777);
      served += to - from;
      const range = from === 0 ? [] : [`content-range: bytes ${from}-${audio.length - 1}/${audio.length}`];
      const headers = (): string[] => [...range, `content-length: ${audio.length - from}`];
      part(from === 0 ? "200 OK" : "206 P", from, to, headers)(response, exchange, service);
      return true;
    });
    const task = await generate(setup.server, { prompt: "Cut in pieces" });
    const [createdTask] = setup.service.tasks.values();
    expect((await readFile(task.audio?.path ?? "")).equals(createdTask?.audio ?? Buffer.alloc(0))).toBe(true);
    expect(served).toBe(20_000);
  });

  it("is cut without a stated length: the rest is requested", async () => {
    const setup = shared();
    setup.misbehaveNext(
      "content",
      part("200 OK", 0, 7000, () => []),
    );
    const task = await generate(setup.server, { prompt: "Unmarked end" });
    expect(task.audio?.size_bytes).toBe(20_000);
  });

  it("is answered in full although a range was requested: it starts over", async () => {
    const setup = shared();
    let contents = 0;
    setup.misbehave((exchange, response, service) => {
      if (exchange.kind !== "content") return false;
      contents += 1;
      const { audio } = taskIn(service, exchange);
      if (contents === 1) part("200 OK", 0, 5000, length)(response, exchange, service);
      else response.writeHead(200, { ...AUDIO, "content-length": audio.length }).end(audio);
      return true;
    });
    const task = await generate(setup.server, { prompt: "In full" });
    const [createdTask] = setup.service.tasks.values();
    expect((await readFile(task.audio?.path ?? "")).equals(createdTask?.audio ?? Buffer.alloc(0))).toBe(true);
    expect(contents).toBe(2);
  });
});

it("a download continues after a 503 when the service said so", async () => {
  const setup = await openFaultSetup();
  // At this time scale, the pause of 600 s lasts 600 ms. A server that ignored the pause would continue after a backoff
  // of a few milliseconds.
  setup.misbehaveNext("content", (r) => r.writeHead(503, { "retry-after": "600" }).end());
  const task = await generate(setup.server, { prompt: "Asked to pause" });
  expect(task.audio?.size_bytes).toBe(20_000);
  const [refused, second] = setup.service.exchanges.filter(({ kind }) => kind === "content");
  expect((second?.atMs ?? 0) - (refused?.atMs ?? 0)).toBeGreaterThanOrEqual(590);
});

describe("no file is left behind", () => {
  it("while the audio is always shorter than announced; this is reported, and it is fetched once it is whole", async () => {
    const setup = await openFaultSetup({ env: { AUDIO_WAIT_SECONDS: "1", AUDIO_TIME_SCALE: "0.01" } });
    setup.misbehaveAlways(
      "content",
      part("200 OK", 0, 100, (size) => [`content-length: ${size}`], true),
    );
    const call = { prompt: "Always short" };
    let outcome = await setup.server.call("generate_audio", call);
    // On a busy machine, the first call may end before the task ends.
    while (taskOf(outcome).status !== "succeeded") outcome = await setup.server.call("generate_audio", call);
    const task = taskOf(outcome);
    expect(task).toMatchObject({ status: "succeeded", audio: null });
    expect(resultTextOf(outcome)).toMatch(/has not worked yet/);
    expect(task.next_step).toContain(`download_audio with task_id ${task.task_id}`);
    const error = errorOf(await setup.server.call("download_audio", { task_id: task.task_id }));
    expect(error).toMatchObject({ retryable: true, task_id: task.task_id });
    expect(["network_error", "timeout"]).toContain(error.code);
    expect((await setup.testFolders.outputNames()).filter((name) => !name.startsWith("."))).toEqual([]);
    setup.misbehave(undefined);
    expect((await generate(setup.server, call)).audio?.size_bytes).toBe(20_000);
    expect(setup.service.count("create")).toBe(1);
  });

  it("by audio over 64 MiB: it is too_large, the id is kept, and nothing is read to the end", async () => {
    const setup = await openFaultSetup();
    setup.misbehaveAlways(
      "content",
      part("200 OK", 0, 5000, () => [`content-length: ${2 ** 26 + 1}`]),
    );
    const outcome = await setup.server.call("generate_audio", { prompt: "Too large" });
    const [createdTaskId] = setup.service.tasks.keys();
    expect(errorOf(outcome)).toMatchObject({ code: "too_large", task_id: createdTaskId, retryable: false });
    expect(resultTextOf(outcome)).toMatch(
      /GET http:\/\/127\.0\.0\.1:\d+\/api\/v1\/audio\/generations\/[^/]+\/content/,
    );
    expect(await setup.testFolders.outputNames()).toEqual([]);
    expect(setup.service.count("content")).toBe(1);
  });

  it("by a redirect: it is an error, and its target never sees the key", async () => {
    const elsewhere = await FakeService.start();
    const setup = await openFaultSetup();
    setup.misbehaveAlways("content", (response) =>
      response.writeHead(302, { location: `${elsewhere.baseUrl}/audio.mp3` }).end(),
    );
    const outcome = await setup.server.call("generate_audio", { prompt: "Redirected" });
    expect(errorOf(outcome)).toMatchObject({ code: "unexpected_response", http_status: 302 });
    expect(resultTextOf(outcome)).toMatch(/redirect .*never followed/);
    expect(elsewhere.exchanges).toEqual([]);
    expect(await setup.testFolders.outputNames()).toEqual([]);
    await elsewhere.stop();
  });
});

it("an output.url on another host is never contacted: the audio comes from the service's own address", async () => {
  const elsewhere = await FakeService.start();
  const setup = await openFaultSetup();
  setup.misbehave((exchange, response, service) => {
    if (exchange.kind !== "query") return false;
    const url = `${elsewhere.baseUrl}/api/v1/audio/generations/${exchange.taskId}/content`;
    const view = service.view(taskIn(service, exchange));
    service.json(response, 200, { ...view, output: { ...Object(view["output"]), url } });
    return true;
  });
  const task = await generate(setup.server, { prompt: "Lured away" });
  expect(task.audio?.size_bytes).toBe(20_000);
  expect(elsewhere.exchanges).toEqual([]);
  await elsewhere.stop();
});

it("a peer that closes under backpressure costs neither the audio nor the process", async () => {
  const setup = await openFaultSetup({ service: { audioBytes: 6_000_000 } });
  setup.misbehaveNext(
    "content",
    (response, exchange, service) => {
      const { audio } = taskIn(service, exchange);
      const { socket } = response;
      socket?.write(
        `HTTP/1.1 200 OK\r\ncontent-type: application/octet-stream\r\ncontent-length: ${audio.length}\r\n\r\n`,
      );
      socket?.write(audio.subarray(0, 4_000_000), () => socket.destroy());
    },
    3,
  );
  const task = await generate(setup.server, { prompt: "Under pressure" });
  const [createdTask] = setup.service.tasks.values();
  expect((await readFile(task.audio?.path ?? "")).equals(createdTask?.audio ?? Buffer.alloc(0))).toBe(true);
});

it.each([
  ["ogg_opus", Buffer.from([0xff, 0xf3, 0x84, 0xc0]), "mp3", ".mp3"],
  ["mp3", Buffer.from("RIFF\0\0\0\0WAVE"), "wav", ".wav"],
])(
  "audio asked for as %s that is another format is saved as that, and the result says so",
  async (asked, head, format, extension) => {
    const setup = await openFaultSetup();
    const other = Buffer.concat([head, Buffer.alloc(4000, 7)]);
    setup.misbehaveAlways("content", (r) =>
      r.writeHead(200, { ...AUDIO, "content-length": other.length }).end(other),
    );
    const call = { prompt: "Another format", output_format: asked, file_name: "tune" };
    const outcome = await setup.server.call("generate_audio", call);
    const told = `The service sent ${format}, not ${asked} as asked for`;
    expect(resultTextOf(outcome)).toContain(told);
    expect(resultTextOf(outcome)).toContain("Cost 10 credits");
    expect(taskOf(outcome).audio).toMatchObject({
      path: join(setup.testFolders.outputDir, `tune${extension}`),
      format,
    });
    const { task_id } = taskOf(outcome);
    const named = await setup.server.call("download_audio", { task_id, file_name: "numbers" });
    expect(taskOf(named).audio?.path).toBe(join(setup.testFolders.outputDir, `numbers${extension}`));
    const listed = resultTextOf(await setup.server.call("list_tasks", {}));
    expect(listed).toContain(`numbers${extension}`);
    expect(listed).not.toContain("Next:");
    expect(await setup.testFolders.outputNames()).toEqual([`numbers${extension}`, `tune${extension}`]);
  },
);

it("bytes of no format that are fetched again under another name leave one file", async () => {
  const setup = await openFaultSetup();
  const junk = Buffer.from("\xff\xfe#!/bin/sh\necho not audio at all\n", "latin1");
  setup.misbehaveAlways("content", (r) =>
    r.writeHead(200, { ...AUDIO, "content-length": junk.length }).end(junk),
  );
  const wav = { output_format: "wav" };
  const refused = await setup.server.call("generate_audio", {
    prompt: "No audio",
    file_name: "tune",
    ...wav,
  });
  expect(resultTextOf(refused)).toMatch(
    /not wav and no other audio; they are kept as .*tune\.bin, and cost 10 credits/,
  );
  const [task] = setup.service.tasks.values();
  await setup.server.call("download_audio", { task_id: task?.id, file_name: "numbers" });
  expect(await setup.testFolders.outputNames()).toEqual(["numbers.bin"]);
  const listed = resultTextOf(await setup.server.call("list_tasks", {}));
  expect(listed).toContain("Its bytes are no audio");
});
