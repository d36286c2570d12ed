/** BullMQ 6: `const worker = new Worker("mails", limitJobs(queue, (job) => send(job.data)), { connection })`. A refused job goes back unharmed. */
import { DelayedError, Worker, type Job, type Queue } from "bullmq";
import { createLimiter, MemoryStore, perMinute, perSecond, type Store } from "sluice";

/** `customer` is whom a job is for. Its job waits, and the others run. For what all jobs share, the queue waits. */
export function limitJobs<Data extends { readonly customer: string }, Result>(queue: Queue, work: (job: Job<Data>) => Promise<Result>, store: Store = new MemoryStore()) {
  const customers = createLimiter({ policy: { name: "mails-of-customer", capacity: 10, refill: perMinute(60) }, store });
  const provider = createLimiter({ policy: { name: "mail-provider", capacity: 5, refill: perSecond(5) }, store });
  return async (job: Job<Data>, token?: string): Promise<Result> => {
    const key = ["customer", job.data.customer] as const;
    const own = await customers.consume(key);
    if (!own.allowed) {
      await job.moveToDelayed(Date.now() + own.retryAfterMs, token);
      throw new DelayedError(); // no failed attempt
    }
    const shared = await provider.consume("mail.example");
    if (!shared.allowed) {
      await customers.refund(key, own);
      await queue.rateLimit(shared.retryAfterMs); // no worker takes a job before
      throw Worker.RateLimitError(); // no failed attempt
    }
    return work(job);
  };
}
