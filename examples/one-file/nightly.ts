/** A job of the service, under the same limit as the route. A route refuses; a job waits for its turn. */
import { createWaiter, run } from "sluice";
import { reports } from "./limits.js";

const patient = createWaiter(reports, { maxWaitMs: 3_600_000 });

/** Makes the reports of all users. A user with two reports in flight gets the next one when one of them is done. */
export async function makeReports(users: readonly string[], makeReport: (user: string) => Promise<void>): Promise<void> {
  await Promise.all(users.map((user) => run(patient, ["user", user], () => makeReport(user))));
}
