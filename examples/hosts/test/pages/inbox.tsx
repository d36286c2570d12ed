// Two components that read one key with SWR.
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { RateLimitedError } from "sluice/client";
import useSWR, { SWRConfig } from "swr";
import { createConfig } from "../../swr.js";

function Inbox() {
  const { data, error } = useSWR<{ messages: string[] }, unknown>("/inbox");
  if (error instanceof RateLimitedError) return <p>{`${error.reason} ${error.waitMs}`}</p>;
  return <p>{data === undefined ? "loading" : data.messages.join()}</p>;
}

createRoot(document.getElementById("app") as HTMLElement).render(
  <StrictMode>
    <SWRConfig value={createConfig({ time: { random: () => 0 } })}>
      <Inbox />
      <Inbox />
    </SWRConfig>
  </StrictMode>,
);
