// A button for a request that the client repeats, and that may fail in another way.
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { createFetch } from "sluice/client";
import { useRateLimit } from "../../react/use-rate-limit.js";

const fetch = createFetch({ time: { random: () => 0 } });

function Save() {
  const { state, start } = useRateLimit(async (call) => {
    const { ok, status } = await fetch("/inbox", { method: "PUT", body: "{}", ...call });
    if (!ok) throw new Error(`Status ${status}`);
  });
  // Two clicks before React draws the first.
  const startTwice = (): void => void Promise.all([start(), start()]);
  return <button onClick={startTwice}>{state.phase === "idle" ? `idle ${String(state.error)}` : `${state.phase} ${state.seconds}`}</button>;
}

const root = createRoot(document.getElementById("app") as HTMLElement);
root.render(
  <StrictMode>
    <Save />
  </StrictMode>,
);
Object.assign(window, { leave: () => root.unmount() });
