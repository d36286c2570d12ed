/** Sends jobs to a service that has limits, in order and no faster than it allows. */
import { RefusedError, run, type Waiter } from "sluice";

/** One job to send. */
export interface Job {
  readonly id: string;
  /** The service account that sends the job. Each account has its own limit. */
  readonly account: string;
  /** Tokens of that limit: a job with ten recipients costs ten. */
  readonly cost: number;
}

/** The outcome of all jobs, by their ids. */
export interface Report {
  readonly sent: string[];
  /** Jobs whose tokens come too late, or never. No tokens were taken for them. `retryAfterMs` is Infinity for never. */
  readonly putOff: { readonly id: string; readonly why: string; readonly retryAfterMs: number }[];
  /** Jobs that had not started when the runner was stopped. They can be run again. */
  readonly left: string[];
  readonly failed: { readonly id: string; readonly error: unknown }[];
}

/**
 * Runs all jobs, each as soon as its account has the tokens. Resolves when the report lists every job; never rejects.
 */
export async function runJobs(jobs: readonly Job[], waiter: Waiter, send: (job: Job) => Promise<void>, signal: AbortSignal): Promise<Report> {
  const report: Report = { sent: [], putOff: [], left: [], failed: [] };
  await Promise.all(
    jobs.map(async (job) => {
      let started = false;
      const work = (): Promise<void> => ((started = true), send(job));
      try {
        // The service counts the call even if it fails, so the tokens stay taken.
        await run(waiter, job.account, work, { cost: job.cost, signal });
        report.sent.push(job.id);
      } catch (error) {
        if (!started && error instanceof RefusedError) report.putOff.push({ id: job.id, why: error.decision.reason, retryAfterMs: error.decision.retryAfterMs });
        else if (!started && signal.aborted) report.left.push(job.id);
        else report.failed.push({ id: job.id, error });
      }
    }),
  );
  return report;
}
