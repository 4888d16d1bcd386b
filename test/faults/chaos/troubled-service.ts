/** A service that fails at random at every step of the protocol, but never loses a task and never makes one twice. */
import type { ServerResponse } from "node:http";
import {
  type Exchange,
  FakeService,
  type FakeServiceOptions,
  type FakeTask,
  type Interceptor,
} from "../../support/fake-service.ts";
import type { Random } from "../../support/random.ts";
import { answerGzip, answerText, rawAnswer, refusing, sayAndHangUp } from "../wire.ts";

export interface Trouble {
  /** Probability that an exchange goes wrong. */
  faults: number;
  /** Probability that a new task is going to fail. */
  failures: number;
  /** Number of exchanges that went wrong so far. */
  count: number;
  /**
   * Tasks of which a read was once answered with 404. One 404 may come from a lagging replica. A second one would be
   * definitive, so these tasks get no further 404.
   */
  readonly answeredNotFound: Set<string>;
}

type Fault = (response: ServerResponse, exchange: Exchange, service: FakeService, random: Random) => void;

const keyOf = ({ headers }: Exchange): string => headers.authorization?.replace("Bearer ", "") ?? "";

/** Faults in which the service does nothing for the request. Some texts contain the key, which must be redacted. */
const REFUSALS: readonly [Fault, ...Fault[]] = [
  (response) => sayAndHangUp(response, "", true),
  (response) => sayAndHangUp(response, ""),
  (response) => sayAndHangUp(response, "SSH-2.0-nothing\r\n"),
  (response) => answerText(response, 502, "<html>Bad gateway</html>", { "content-type": "text/html" }),
  (r, exchange, service) =>
    service.refuse(
      r,
      503,
      "api_unavailable",
      `You sent ${keyOf(exchange)}, ${exchange.headers.authorization}`,
    ),
  (r, exchange, service) =>
    service.refuse(r, 500, "oops", `You sent ${keyOf(exchange)}, ${exchange.headers.authorization}`),
  refusing(429, "rate_limit"),
  (r) => answerText(r, 503, "{}", { "retry-after": "1" }),
];

/** Answers of a proxy between server and service. They must not end the polling or the download. */
const PAGES: readonly [Fault, ...Fault[]] = [
  (r) => answerText(r, 403, "<html>Blocked</html>", { "content-type": "text/html" }),
  (r) => r.writeHead(302, { location: "https://example.com/login" }).end(),
  (r) => answerText(r, 404, "<html>nothing here</html>", { "content-type": "text/html" }),
  (r) => answerText(r, 200, "<html>Sign in</html>", { "content-type": "text/html" }),
];

/** Faults that end a call at once. They must not end the task. */
const REFUSED_FOR_GOOD: readonly [Fault, ...Fault[]] = [
  (r, exchange, service) => service.refuse(r, 401, "invalid_api_key", `no: ${keyOf(exchange)}`),
  (r, exchange, service) => service.refuse(r, 402, "insufficient_credits", `no: ${keyOf(exchange)}`),
  refusing(403, "purchase_required"),
  ...PAGES,
];

/** Faults that replace or damage the answer after the service has done its work. */
const GARBLINGS: readonly [
  (...all: [...Parameters<Fault>, unknown, number]) => void,
  ...((...all: [...Parameters<Fault>, unknown, number]) => void)[],
] = [
  (r) => sayAndHangUp(r, "", true),
  refusing(503, "api_unavailable"),
  refusing(503, "api_unavailable"),
  (r, _e, _s, random, body, status) => {
    const text = JSON.stringify(body);
    sayAndHangUp(r, rawAnswer(`${status} X`, text.slice(0, random.int(0, text.length - 1)), [], text.length));
  },
  (r, _e, _s, _random, body, status) => answerGzip(r, status, body),
  (r, _e, _s, _random, _body, status) => answerText(r, status, "not what you think"),
  (r, _e, _s, _random, body, status) =>
    answerText(r, status, JSON.stringify({ ...Object(body), status: "dreaming" })),
  (r, _e, _s, _random, body, status) => answerText(r, status, JSON.stringify({ ...Object(body), id: ["x"] })),
];

function garbleAudio(response: ServerResponse, exchange: Exchange, task: FakeTask, random: Random): void {
  const { audio } = task;
  const from = Number(/\d+/.exec(exchange.headers.range ?? "")?.[0] ?? 0);
  const cut = random.int(from, audio.length - 1);
  const send = (status: string, headers: string[], start: number, end: number): void => {
    const bytes = audio.subarray(start, end).toString("latin1");
    sayAndHangUp(
      response,
      `HTTP/1.1 ${status}\r\n${headers.join("\r\n")}\r\n\r\n${bytes}`,
      random.chance(0.5),
    );
  };
  const whole = `content-length: ${audio.length}`;
  switch (random.int(0, 5)) {
    case 0:
      if (from === 0) send("200 OK", [whole], 0, cut);
      else
        send(
          "206 P",
          [
            `content-range: bytes ${from}-${audio.length - 1}/${audio.length}`,
            `content-length: ${audio.length - from}`,
          ],
          from,
          cut,
        );
      return;
    case 1:
      send("200 OK", [whole], 0, cut);
      return;
    case 2:
      response.writeHead(416, { "content-range": `bytes */${audio.length}` }).end();
      return;
    case 3:
      send("206 P", ["content-range: bytes 5-9/10", "content-length: 5"], 5, 10);
      return;
    case 4:
      answerText(response, 409, '{"error":{"code":"not_ready","message":"not yet"}}');
      return;
    default:
      answerText(response, 200, "<html>Sign in</html>", { "content-type": "text/html" });
  }
}

/** Waits like a busy service. Callers pass only short times, so that no deadline passes. */
const delay = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

function trouble(random: Random, now: Trouble): Interceptor {
  return async (exchange, response, service) => {
    if (random.chance(0.3)) await delay(random.int(0, 15));
    const task = service.tasks.get(exchange.taskId ?? "");
    const isWrong = random.chance(now.faults);
    if (isWrong) now.count += 1;
    if (exchange.kind === "create") {
      const isNew = !service.byKey.has(exchange.key ?? "");
      if (isWrong && random.chance(0.5)) {
        random.pick(random.chance(0.15) ? REFUSED_FOR_GOOD : REFUSALS)(response, exchange, service, random);
        return true;
      }
      if (!isWrong) return markIfFailing(service, exchange, isNew && random.chance(now.failures));
      if (isNew && service.runningTaskCount >= 2) return false;
      const accepted = service.accept(exchange);
      if (accepted === "conflict") return false;
      random.pick(GARBLINGS)(response, exchange, service, random, service.view(accepted, isNew), 202);
      return true;
    }
    if (!isWrong || task === undefined) return false;
    if (random.chance(0.05) && !now.answeredNotFound.has(task.id)) {
      now.answeredNotFound.add(task.id);
      service.refuse(response, 404, "not_found");
    } else if (random.chance(0.15)) random.pick(PAGES)(response, exchange, service, random);
    else if (random.chance(0.4)) random.pick(REFUSALS)(response, exchange, service, random);
    else if (exchange.kind === "content") garbleAudio(response, exchange, task, random);
    else random.pick(GARBLINGS)(response, exchange, service, random, service.view(task), 200);
    return true;
  };
}

/** Makes a new task fail before the service answers its submission, so that the answer already says `failed`. */
function markIfFailing(service: FakeService, exchange: Exchange, isFailing: boolean): boolean {
  if (!isFailing || service.runningTaskCount >= 2) return false;
  const task = service.accept(exchange);
  if (task !== "conflict") task.status = "failed";
  return false;
}

/** Starts the service for keys of one account. */
export async function startTroubledService(
  random: Random,
  now: Trouble,
  options: FakeServiceOptions,
): Promise<FakeService> {
  const service = await FakeService.start(options);
  service.intercept = trouble(random, now);
  return service;
}
