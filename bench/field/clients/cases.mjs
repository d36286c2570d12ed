// The server's first answers. `rightMs` is the shortest wait that obeys the answer, or null when the answer states no
// readable wait.
import { virtualNow } from "./virtual-time.mjs";

const HOUR = 3_600_000;
const imf = (ms) => new Date(ms).toUTCString();

/** `Sunday, 06-Nov-94 08:49:37 GMT` */
function rfc850(ms) {
  const [, date, month, year, time] = imf(ms).split(" ");
  const weekday = new Date(ms).toLocaleDateString("en-US", { weekday: "long", timeZone: "UTC" });
  return `${weekday}, ${date}-${month}-${year.slice(2)} ${time} GMT`;
}

/** `Sun Nov  6 08:49:37 1994` */
function asctime(ms) {
  const [weekday, date, month, year, time] = imf(ms).split(" ");
  return `${weekday.slice(0, 3)} ${month} ${String(Number(date)).padStart(2)} ${time} ${year}`;
}

const retryAfter = (value) => () => ({ "Retry-After": value });
/** The server's clock is `skewMs` ahead of the client's. `form` states a wait of ten seconds. */
const dated = (form, skewMs = 0, inMs = 10_000) => () => {
  const serverNow = Math.floor((virtualNow() + skewMs) / 1_000) * 1_000;
  return { Date: imf(serverNow), "Retry-After": form(serverNow + inMs) };
};

export const cases = [
  { says: "`Retry-After: 10`", headers: retryAfter("10"), rightMs: 10_000 },
  { says: "`0`", headers: retryAfter("0"), rightMs: 0 },
  { says: "`1.5`", headers: retryAfter("1.5"), rightMs: 1_500 },
  { says: "`3600`, an hour", headers: retryAfter("3600"), rightMs: HOUR },
  { says: "`2592000`, 30 days", headers: retryAfter("2592000"), rightMs: 720 * HOUR },
  { says: "`99999999999999999999`", headers: retryAfter("99999999999999999999"), rightMs: 1e23 },
  { says: "date in 10 s", headers: dated(imf), rightMs: 10_000 },
  { says: "the same, server's clock 1 h ahead", headers: dated(imf, HOUR), rightMs: 10_000 },
  { says: "the same, server's clock 1 h behind", headers: dated(imf, -HOUR), rightMs: 10_000 },
  { says: "the same, RFC 850 form", headers: dated(rfc850), rightMs: 10_000 },
  { says: "the same, asctime form, in New York", headers: dated(asctime), rightMs: 10_000 },
  { says: "date 10 s ago", headers: dated(imf, 0, -10_000), rightMs: 0 },
  { says: "`-5`", headers: retryAfter("-5"), rightMs: null },
  { says: "`soon`", headers: retryAfter("soon"), rightMs: null },
  { says: "`5, 10`, the field twice", headers: retryAfter(["5", "10"]), rightMs: null },
  { says: "no field at all", headers: () => ({}), rightMs: null },
  { says: "only `RateLimit: \"a\";r=0;t=10`", headers: () => ({ RateLimit: '"a";r=0;t=10' }), rightMs: 10_000 },
  { says: "only `RateLimit-Remaining: 0`, `RateLimit-Reset: 10`", headers: () => ({ "RateLimit-Remaining": "0", "RateLimit-Reset": "10" }), rightMs: 10_000 },
  {
    says: "only `X-RateLimit-Remaining: 0`, `-Reset` as epoch seconds",
    headers: () => ({ "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": String(Math.ceil(virtualNow() / 1_000) + 10) }),
    rightMs: 10_000,
  },
];
