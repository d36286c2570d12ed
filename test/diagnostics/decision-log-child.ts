// Decides in every way that a limiter can. Its standard error has what NODE_DEBUG prints.
import { combine, createLimiter, createWaiter, MemoryStore, perSecond } from "sluice";
import { createGate } from "sluice/http";

const store = (): MemoryStore => new MemoryStore({ clock: () => 0 });
const made = (name: string, shadow = false) => createLimiter({ policy: { name, capacity: 2, refill: perSecond(1) }, store: store(), shadow });

const api = made("api");
for (let i = 0; i < 2; i++) api.consume(["user", "ann"], 2);
api.peek(["user", "ann"]);
const shadow = made("shadow", true);
for (let i = 0; i < 2; i++) shadow.consume("ann", 2);
combine({ user: made("user"), tenant: made("tenant") }).consume({ user: "ann", tenant: "acme" });
await createWaiter(made("waiter")).consume("ann");
void createGate<string>({ limiter: made("gate"), key: (user) => user }, { method: () => "GET", header: () => null })("ann");
