// `docs/guides/warnings.md` is written from these comments. The first paragraph says what the mistake does to callers,
// the others when it is found and what to do.

/** The codes of what happens while requests are served. */
export const RUN_TIME_CODES = [
  /**
   * Logs, metrics, settlements or your own answers are missing.
   *
   * **When:** a function that [cannot stop a request](../options.md#functions-that-fail), a listener of
   * `createObserver` or the Node adapter's `onError` threw, rejected or returned an invalid value, or `respond` sent
   * nothing within `functionTimeoutMs`. Or another package's hook on `setHeader` threw. The message names the function.
   * The request goes on without it.
   *
   * **What to do:** catch errors inside of the function. Later ones are dropped without a warning. A subscriber of
   * `node:diagnostics_channel` that throws ends the process.
   */
  "SLUICE_FUNCTION_FAILED",
  /**
   * Responses have no RateLimit fields, and refusals have the wrong status.
   *
   * **When:** on Node, the response's header was already sent. A refusal is then short, and the handler does not run.
   *
   * **What to do:** mount the limiter before any middleware that writes a response. Look for one that responds and
   * calls `next`, or for a timeout middleware.
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
   * **What to do:** pass `prepare: false`, or let [the pooler](../stores/postgres.md#prepared-statements-and-poolers)
   * support prepared statements.
   */
  "SLUICE_POSTGRES_PREPARE",
  /**
   * Browsers see network errors.
   *
   * **When:** more CORS preflights arrived than [their bucket](proxies-and-cors.md#preflights) takes: 100 at once and
   * 100 per second, for each middleware in each process.
   *
   * **What to do:** mount your CORS middleware before the rate limit. To get fewer preflights, send
   * `Access-Control-Max-Age`.
   */
  "SLUICE_PREFLIGHTS",
  /**
   * More work at once than the limit in flight allows.
   *
   * **When:** tokens in flight were not renewed within `staleAfterMs`, while their work went on: the store was
   * unavailable or too slow, or the process stood still. The message says how many works lost their tokens.
   *
   * **What to do:** raise `staleAfterMs` of [`whenDone`](in-flight.md), repair the store, or move it closer.
   */
  "SLUICE_RENEWALS_MISSED",
  /**
   * A caller has fewer tokens than it should, or more.
   *
   * **When:** the store failed while a decision was settled or refunded, or it got the call more than a minute late,
   * also from a gate or `run`. The message has the tokens and the error.
   *
   * **What to do:** repair what the error names, and correct the caller's tokens [by
   * hand](settling.md#when-a-settlement-fails). To be told of each such settlement with its key, pass an
   * [observer](metrics.md#events).
   */
  "SLUICE_SETTLEMENT_FAILED",
  /**
   * `onStoreError` decides, and your code does not know.
   *
   * **When:** a call fails, and the store "has not answered yet". Without an observer also when a call "failed" and its
   * caller is refused, and when the store "is unavailable". The message has the cause, and what the limiters do
   * meanwhile. A store gives it once, and again for its first outage if it has answered in between.
   *
   * **What to do:** repair the store, and set its `sharedBy` to the number of your processes. To see each outage and
   * its end, pass an [observer](outages.md#how-to-notice-an-outage).
   */
  "SLUICE_STORE_UNAVAILABLE",
] as const;
