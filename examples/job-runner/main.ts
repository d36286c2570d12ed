/** Sends 100 mails over two accounts, 10 a second each. Press Ctrl-C to stop: it reports the mails that it has not sent. */
import { createLimiter, perSecond, createWaiter } from "sluice";
import { runJobs, type Job } from "./runner.js";

const limiter = createLimiter({ policy: { name: "mail", capacity: 5, refill: perSecond(10) } });
const waiter = createWaiter(limiter, { maxWaitMs: 60_000 });

const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => stop.abort(signal));

const jobs = Array.from({ length: 100 }, (_, i): Job => ({ id: `mail ${i + 1}`, account: i % 3 === 0 ? "news" : "invoices", cost: 1 }));
const report = await runJobs(jobs, waiter, async (job) => console.log(`sent ${job.id} over ${job.account}`), stop.signal);
console.log(`${report.sent.length} sent, ${report.putOff.length} put off, ${report.left.length} left for the next time`);
