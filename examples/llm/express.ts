// A gateway in front of a language model: requests and tokens per minute for each user.
import { setTimeout } from "node:timers/promises";
import express from "express";
import { perMinute } from "sluice";
import { rateLimit, reportCost } from "sluice/express";

const users = new Map([["Bearer ann-key", "ann"]]); // your sign-in

/** Stands in for the model. Call your provider here. */
async function askModel(prompt: string, most: number) {
  if (prompt === "fail") throw new Error("The model does not answer");
  return { text: `You wrote: ${prompt}`, total_tokens: Math.min(most, 40) };
}
/** The same in parts: 10 tokens every 5 ms. */
async function* streamModel(prompt: string, most: number) {
  if (prompt === "fail") throw new Error("The model does not answer");
  for (let used = 10; used <= most; used += 10) yield setTimeout(5, { text: `${prompt} `, tokens: 10 });
}

const app = express();
app.use(
  "/chat",
  express.json(),
  (request, response, next) => {
    const { prompt, max_tokens: most } = Object(request.body) as { prompt?: unknown; max_tokens?: unknown };
    if (typeof prompt === "string" && Number.isSafeInteger(most) && Number(most) > 0) return next();
    response.status(400).json({ message: "Expected `prompt`, a text, and `max_tokens`, a whole number" });
  },
  rateLimit({
    policy: {
      name: "chat",
      limits: [
        { name: "requests", refill: perMinute(60) },
        { name: "tokens", refill: perMinute(30_000), unit: "tokens" },
      ],
    },
    key: (request) => ["user", users.get(request.get("authorization") ?? "")],
    unidentified: "refuse",
    cost: ({ body }) => ({ tokens: Math.ceil(body.prompt.length / 4) + body.max_tokens }), // the most that the answer can use
  }),
);
app.post("/chat", async (request, response) => {
  try {
    const { text, total_tokens } = await askModel(request.body.prompt, request.body.max_tokens);
    reportCost(request, { tokens: total_tokens }); // the rest comes back when the response has ended
    response.json({ text, total_tokens });
  } catch {
    reportCost(request, 0); // nothing was used, and the request comes back, too
    response.status(502).json({ message: "The model does not answer" });
  }
});
app.post("/chat/stream", async (request, response) => {
  const { prompt, max_tokens: most } = request.body;
  let used = 0;
  try {
    for await (const { text, tokens } of streamModel(prompt, most)) {
      used += tokens;
      response.write(text);
      if (response.closed) break; // the client left
    }
    response.end();
  } catch {
    if (used > 0) response.destroy(); // the answer broke off
    else response.status(502).json({ message: "The model does not answer" });
  } finally {
    reportCost(request, used > 0 ? { tokens: Math.ceil(prompt.length / 4) + used } : 0); // the prompt counts, too
  }
});
app.listen(3000);
