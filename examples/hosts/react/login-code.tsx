/** A button that sends a login code, and says when the next one may be sent. */
import { createFetch } from "sluice/client";
import { useRateLimit, type SendState } from "./use-rate-limit.js";

const fetch = createFetch();

export function LoginCode({ phone }: { readonly phone: string }) {
  const { state, start } = useRateLimit(async (call) => {
    const response = await fetch("/login/code", { method: "POST", body: JSON.stringify({ phone }), sensitive: true, ...call });
    if (!response.ok) throw new Error(`Status ${response.status}`);
  });
  return (
    <button disabled={state.phase !== "idle"} onClick={() => void start()}>
      {labelOf(state)}
    </button>
  );
}

function labelOf(state: SendState): string {
  if (state.phase === "sending") return state.seconds > 0 ? `Sending in ${state.seconds} s` : "Sending";
  if (state.phase === "waiting") return state.seconds < Infinity ? `Try again in ${state.seconds} s` : "Not possible now";
  return state.error === null ? "Send code" : "Send code again";
}
