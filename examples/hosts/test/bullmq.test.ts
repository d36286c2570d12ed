// The limits for jobs, with workers of BullMQ over a Redis of the test's own. BullMQ goes by the time of the machine.
import { once } from "node:events";
import { Queue, Worker, type Job } from "bullmq";
import { createLimiter, MemoryStore, perMinute } from "sluice";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { startRedis, type OwnRedis } from "../../../test/helpers/own-redis.js";
import { describeWith } from "../../../test/helpers/services.js";
import { until } from "../../../test/helpers/soon.js";
import { limitJobs } from "../servers/bullmq.js";

interface Mail { readonly customer: string; readonly to: string }

describeWith("redis-server", "BullMQ", () => {
  let server: OwnRedis;
  beforeAll(async () => void (server = await startRedis()));
  afterAll(() => server.stop());

  /** A queue without a worker, and how to begin. */
  function open(name: string) {
    const connection = { host: "127.0.0.1", port: server.port };
    const queue = new Queue<Mail>(name, { connection });
    const store = new MemoryStore();
    const sent: Mail[] = [];
    const send = async ({ data }: Job<Mail>) => void sent.push(data);
    const begin = (): Worker<Mail> => {
      const worker = new Worker<Mail>(name, limitJobs(queue, send, store), { connection });
      onTestFinished(() => worker.close(true));
      return worker;
    };
    onTestFinished(() => queue.close());
    return { queue, store, sent, begin };
  }

  test("a customer's job beyond the limit goes back unharmed for as long as the limit says, and those of others run", async () => {
    const { queue, sent, begin, store } = open("mails");
    const customers = createLimiter({ policy: { name: "mails-of-customer", capacity: 10, refill: perMinute(60) }, store });
    customers.debit(["customer", "ann"], 10 + 600); // ten minutes
    const late = await queue.add("mail", { customer: "ann", to: "late" });
    await queue.add("mail", { customer: "bob", to: "now" });
    begin();
    await until(() => sent.length === 1);
    await until(async () => (await queue.getDelayedCount()) === 1);
    const { retryAfterMs } = customers.peek(["customer", "ann"]);
    const job = await queue.getJob(late.id as string);
    const until_ = (job as Job).timestamp + (job as Job).delay;
    expect([sent, job?.attemptsMade, await queue.getFailedCount()]).toEqual([[{ customer: "bob", to: "now" }], 0, 0]);
    expect(Math.abs(until_ - Date.now() - retryAfterMs)).toBeLessThan(60_000);
  });

  test("what all jobs share holds the queue: no job fails, no customer is charged for the wait, and all are done", async () => {
    const { queue, sent, begin, store } = open("burst");
    const customers = createLimiter({ policy: { name: "mails-of-customer", capacity: 10, refill: perMinute(60) }, store });
    await queue.addBulk(Array.from({ length: 8 }, (_, i) => ({ name: "mail", data: { customer: `c${i}`, to: `${i}` } })));
    const worker = begin();
    const limited = once(worker, "drained");
    await until(() => sent.length === 8);
    await limited;
    expect([sent.map(({ to }) => to).sort(), await queue.getFailedCount()]).toEqual([Array.from({ length: 8 }, (_, i) => `${i}`), 0]);
    for (let i = 0; i < 8; i++) expect(customers.peek(["customer", `c${i}`]).remaining).toBeGreaterThanOrEqual(9);
  });
});
