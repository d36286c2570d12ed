// `docs/guides/warnings.md` is written from these comments. The first paragraph says what the mistake does to callers,
// the others when it is found and what to do.

/** The codes of what happens while requests are served. */
export const RUN_TIME_CODES = [
  /**
   * Logs, metrics, settlements or your own answers are missing.
   *
   * **When:** `respond`, `unidentified`, `onDecision`, `actualCost`, `shadow`, a listener of `createObserver` or the
   * Node adapter's `onError` threw, rejected or returned an invalid value, or `respond` sent nothing within
   * `functionTimeoutMs`. Or another package's hook on `setHeader` threw. The message names the function. The request
   * goes on without it ([what happens instead](../options.md#functions-that-fail)).
   *
   * **What to do:** catch errors inside of the function. Later errors are dropped without a warning. A subscriber of
   * `node:diagnostics_channel` that throws ends the process.
   */
  "SLUICE_FUNCTION_FAILED",
  /**
   * Responses have no RateLimit fields, and refusals have the wrong status.
   *
   * **When:** on Node, the response's header was already sent. A refusal is then a short response with the status that
   * was sent. The handler does not run.
   *
   * **What to do:** mount the limiter before any middleware that writes a response. Look for one before it that
   * responds and calls `next`, or for a timeout middleware that responds first.
   */
  "SLUICE_HEADERS_SENT",
  /**
   * Decisions over Postgres are slower than necessary.
   *
   * **When:** the function `<table>_grant` is missing, or the role may not execute it. Without `<table>_decide`, too,
   * every call fails, and the message says so.
   *
   * **What to do:** run [`migrate()`](../stores/postgres.md#create-the-table), or the SQL of `postgresSchema`. For
   * SQLSTATE `42501`, grant `EXECUTE`. The store looks for the function once a minute.
   */
  "SLUICE_POSTGRES_MIGRATE",
  /**
   * Decisions over Postgres are slower than necessary.
   *
   * **When:** a connection lost a prepared statement, or has another client's. Usually a pooler gives each transaction
   * another connection. The store uses no named statements from then on.
   *
   * **What to do:** pass `prepare: false`, or let the pooler support prepared statements
   * ([poolers](../stores/postgres.md#prepared-statements-and-poolers)).
   */
  "SLUICE_POSTGRES_PREPARE",
  /**
   * Browsers see network errors.
   *
   * **When:** more CORS preflights arrived than [their lane](proxies-and-cors.md#preflights) takes: 100 at once and 100
   * per second, for each middleware in each process.
   *
   * **What to do:** mount your CORS middleware before the rate limit. To get fewer preflights, send
   * `Access-Control-Max-Age`.
   */
  "SLUICE_PREFLIGHTS",
  /**
   * More work at once than the limit in flight allows.
   *
   * **When:** the store did not renew tokens in flight within `staleAfterMs`, while their work went on: the store was
   * unavailable or too slow, or the process stood still. The message says how many works lost their tokens.
   *
   * **What to do:** raise `staleAfterMs` of [`whenDone`](in-flight.md), repair the store, or move it closer.
   */
  "SLUICE_RENEWALS_MISSED",
  /**
   * A caller has fewer tokens than it should, or more.
   *
   * **When:** the store failed while a decision was settled or refunded, or it got the call more than a minute late.
   * The message has the tokens and the error. After any error but `ERR_STORE_OPEN` the settlement may have been made
   * all the same, so the limiter does not make it again. It also comes from a gate and from `run`, where no code of
   * yours sees the failure.
   *
   * **What to do:** repair what the error names. After `ERR_STORE_OPEN` settle again. Otherwise look at the caller with
   * `peek`. Give back with `credit` what is missing, or take with `debit` what the settlement was to take. Tokens in
   * flight come back by themselves. To be told of each such settlement with its key, pass an
   * [observer](metrics.md#events).
   */
  "SLUICE_SETTLEMENT_FAILED",
  /**
   * `onStoreError` decides, and your code does not know.
   *
   * **When:** the message says which: the store "has not answered yet" and the first call failed; a call "failed" and a
   * caller was refused; or the store "is unavailable", because several calls in a row failed. In the last two cases no
   * observer listens. It has the cause, such as `connect ECONNREFUSED 127.0.0.1:6379`, and says what the limiters do
   * meanwhile. Given once for each store, and at most once before its first outage.
   *
   * **What to do:** repair the store, and set `sharedBy` of the store to the number of your processes. To see each
   * outage and its end, pass an [observer](outages.md#how-to-notice-an-outage).
   */
  "SLUICE_STORE_UNAVAILABLE",
] as const;
