"use client";
import { useActionState } from "react";
import { exportReport } from "./actions";

export function ExportForm() {
  const [state, action, isPending] = useActionState(exportReport, null);
  return (
    <form action={action}>
      <button disabled={isPending}>Export</button>
      {state?.error === null && <p>Ready: {state.file}</p>}
      {state?.error === "signed_out" && <p>Sign in first.</p>}
      {state?.error === "rate_limited" && <p>Too many exports. Try again in {state.retryAfter ?? 1} seconds.</p>}
      {state?.error === "unavailable" && <p>Exports do not work now. Try again in {state.retryAfter ?? 1} seconds.</p>}
    </form>
  );
}
