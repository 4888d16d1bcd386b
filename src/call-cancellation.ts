/** Decides whether the work for a call stops when the call ends. */
import { AudioError } from "./errors.ts";

/** Matches the reasons of clients that only stop waiting, in the words of their languages and of their libraries. */
const STOPS_WAITING = [
  // -32001 is the JSON-RPC code for a request that timed out. Go, gRPC and Rust speak of deadlines, Ruby of expiry.
  /-32001|time[sd]?[ _-]?out|timing out|deadline|\bexpired\b|\belapsed\b|\btime ?limit\b|\btoo long\b|\bin time\b/i,
  /\b(?:within|after|exceed(?:ed|s)|waited)\b[^.;]*?\d\s*(?:ms|s|secs?|seconds?|mins?|minutes?|milliseconds?)\b/i,
  /\b(?:execution|wait(?:ing)?|response|request|maximum|max) time\b/i,
  /zeit(?:über|ab)|délai|tiempo de espera|tempo limite|тайм-?аут|превышено|超时|超時|逾時|タイムアウト/i,
  // The connection is gone.
  /disconnect|(?:connection|transport|socket|stream|session|pipe|channel)\b.{0,20}\b(?:clos|lost|reset|broke|end|terminat|gone)/i,
  /broken pipe|hang up|\bEOF\b|ECONN|EPIPE/,
];

/** Matches reasons that name a person, who may also say that it takes too long. */
const NAMES_A_PERSON =
  /\b(?:user|person|human)\b.{0,12}\b(?:cancel|abort|stop|interrupt|reject|quit|press|ask|want|request|decid)|\bby (?:the )?user\b/i;

/**
 * Whether the caller wants the work to stop. The work continues if a client only stops waiting or disconnects, or if
 * this server ends a call that gets no answer in time.
 *
 * @param reason the reason of the call's signal: the client's own words, or an error
 */
export function isCancelledByCaller(reason: unknown): boolean {
  if (reason instanceof AudioError) return false;
  const words = reason instanceof Error ? `${reason.name} ${reason.message}` : String(reason);
  return NAMES_A_PERSON.test(words) || !STOPS_WAITING.some((pattern) => pattern.test(words));
}
