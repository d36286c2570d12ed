/** Sends jobs to a service that has limits of its own, no faster than it allows and in order. */
import { WaitError, type Waiter } from "sluice";

/** Something to be sent. */
export interface Job {
  readonly id: string;
  /** Whose account with the service it goes by: each has a limit of its own. */
  readonly account: string;
  /** Tokens of that limit; a job of ten recipients costs ten. */
  readonly cost: number;
}

/** What became of the jobs, by their ids. */
export interface Report {
  readonly sent: string[];
  /** Their turn would have come too late, or they can never fit. Nothing was taken for them. */
  readonly putOff: { readonly id: string; readonly why: string }[];
  /** The runner was stopped before their turn. They can be run again, for none of them was begun. */
  readonly left: string[];
  readonly failed: { readonly id: string; readonly error: unknown }[];
}

/** Runs all jobs, each as soon as its account has the tokens. Resolves when every one of them is accounted for; never rejects. */
export async function runJobs(jobs: readonly Job[], line: Waiter, send: (job: Job) => Promise<void>, signal: AbortSignal): Promise<Report> {
  const report: Report = { sent: [], putOff: [], left: [], failed: [] };
  await Promise.all(
    jobs.map(async (job) => {
      try {
        await line.wait(job.account, { cost: job.cost, signal });
      } catch (error) {
        if (signal.aborted) report.left.push(job.id);
        else if (error instanceof WaitError) report.putOff.push({ id: job.id, why: error.code });
        else report.failed.push({ id: job.id, error });
        return;
      }
      // From here on it counts with the service, whatever comes of it: so nothing is given back.
      await send(job).then(
        () => report.sent.push(job.id),
        (error: unknown) => report.failed.push({ id: job.id, error }),
      );
    }),
  );
  return report;
}
