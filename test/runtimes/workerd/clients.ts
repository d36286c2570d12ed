// The client in a Worker: calls of different requests must not share a promise or a timer.
import { createFetch } from "sluice/client";
import { createTraffic } from "sluice/client/traffic";

// Anywhere else equal calls of this one are merged, and a second call is one too many.
const merging = createFetch({ identity: "one", merge: true, maxPending: 1 });
const scheduled = createFetch({ traffic: createTraffic() });

async function told(answer: Promise<Response>) {
  const response = await answer;
  return { status: response.status, text: await response.text() };
}

/** Equal calls of many requests. */
export const callOfClient = (_request: Request, { ORIGIN }: Readonly<Record<string, string>>) => told(merging(`${ORIGIN}/same`));

/** Calls of many requests after a 429. The origin is told when a call waits. */
export const callOfTraffic = (_request: Request, { ORIGIN }: Readonly<Record<string, string>>) =>
  told(scheduled(`${ORIGIN}/limited`, { onWait: ({ reason }) => void fetch(`${ORIGIN}/waits/${reason}`) }));
