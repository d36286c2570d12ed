/**
 * The requests of a phone's app: three things that such apps do every day, and how the client handles a 429.
 */
import { countdown, createFetch, RateLimitedError, type ClientInit, type ClientTime } from "sluice/client";

/** The inputs of the app. */
export interface Surroundings {
  /** The server: examples/server, on any framework. */
  readonly url: string;
  /** The signed-in user. The example server knows alice, bob and carol. */
  readonly user: string;
  /** Shows a line. */
  readonly say: (line: string) => void;
  /** The clock and the random numbers, for tests. */
  readonly time?: ClientTime;
}

/** The app in use, for a few seconds. */
export async function useApp(surroundings: Surroundings): Promise<void> {
  const app = openApp(surroundings);
  await comeToForeground(app);
  await refreshInbox(app);
  await requestLoginCodes(app);
}

interface App {
  /** Sends a request as the user. Rejects with a `RateLimitedError` when the client gives up. */
  readonly ask: (path: string, init?: ClientInit) => Promise<Response>;
  /** The number of requests sent so far. */
  readonly sent: () => number;
  readonly say: (line: string) => void;
  readonly time: ClientTime | undefined;
}

function openApp({ url, user, say, time }: Surroundings): App {
  let sent = 0;
  const obedient = createFetch({
    fetch: (input, init) => {
      sent++;
      return fetch(input, init);
    },
    identity: user,
    // A spinner, in a real app.
    onWait: ({ waitMs }) => say(`    refused; waits ${seconds(waitMs)}`),
    time,
  });
  const headers = { Authorization: `Bearer ${user}` };
  return { ask: (path, init) => obedient(new URL(path, url), { ...init, headers }), sent: () => sent, say, time };
}

/** Every part of the screen wakes up at once and loads its data. */
async function comeToForeground({ ask, sent, say }: App): Promise<void> {
  say("The app comes to the foreground.");
  const parts = ["the list", "the badge", "the widget", "the search index"];
  const pages = ["/inbox?page=1", "/inbox?page=2", "/inbox?page=3"];
  say(`  ${parts.length} parts of it ask for the same ${pages.length} pages: ${parts.length * pages.length} calls.`);

  const answers = await Promise.all(
    parts.flatMap(() => pages.map(async (page) => {
      const response = await ask(page);
      return (await response.json()) as { messages: unknown[] };
    })),
  );
  say(`  ${answers.length} answers, ${sent()} requests. Identical ones that were pending became one.`);
}

/** The user pulls the list down ten times. */
async function refreshInbox({ ask, sent, say }: App): Promise<void> {
  say("\nThe user pulls to refresh, ten times in a row.");
  const before = sent();
  for (let pull = 1; pull <= 10; pull++) {
    const response = await ask("/inbox");
    const { messages } = (await response.json()) as { messages: unknown[] };
    say(`  pull ${pull}: ${messages.length} messages`);
  }
  say(`  10 answers, ${sent() - before} requests. No error reached the user.`);
}

/** A login code costs money and annoys its receiver, so the request is never repeated silently. */
async function requestLoginCodes({ ask, say, time }: App): Promise<void> {
  say("\nThe user wants a login code, and a fourth one because none has come.");
  for (let tap = 1; tap <= 4; tap++) {
    try {
      await ask("/login/code", { method: "POST", body: '{"phone": "+1 555 0100"}', sensitive: true });
      say(`  tap ${tap}: a code is on its way`);
    } catch (error) {
      if (!(error instanceof RateLimitedError)) throw error;
      say(`  tap ${tap}: refused after ${error.attempts} request, because of ${error.policies.join(", ")}`);
      say(`    ${error.message}`);
      await showButton(error, say, time);
    }
  }
}

/** The button counts down until the user leaves the screen. */
async function showButton(error: RateLimitedError, say: App["say"], time: App["time"]): Promise<void> {
  const screen = new AbortController();
  let ticks = 0;
  try {
    await countdown(
      error,
      (left) => {
        say(`    [ Send again in ${Math.floor(left / 60)}:${String(left % 60).padStart(2, "0")} ]`);
        if (++ticks === 3) screen.abort();
      },
      { time, signal: screen.signal },
    );
  } catch {
    say("    The user leaves the screen, and the countdown stops.");
  }
}

function seconds(ms: number): string {
  return `${Math.round(ms / 10) / 100} s`;
}
