// The home page: the one thought, the picture, the sample on each framework, its 429, and what was measured.
import { readFileSync } from "node:fs";
import { join } from "node:path/posix";
import { ROOT } from "./links.js";

const TABS = { express: "Express", fastify: "Fastify", hono: "Hono", node: "Node", workers: "Workers" } as const;

const read = (path: string): string => readFileSync(join(ROOT, path), "utf8").trimEnd();

/** The refusal that the README quotes. A test proves it. */
function quotedRefusal(): string {
  const [, answer] = /^<!-- docs: answer quick-start 429 -->\n(```http\n[^]*?\n```)$/m.exec(read("README.md")) ?? [];
  if (answer === undefined) throw new Error("Expected the answer quick-start 429 in README.md, found none");
  return answer;
}

/** The sample on each framework, as tabs. */
function samples(): string {
  return `::: code-group\n${Object.entries(TABS).map(([file, name]) => `\`\`\`ts [${name}]\n${read(`examples/quick-start/${file}.ts`)}\n\`\`\``).join("\n")}\n:::`;
}

/** The page's text, in Markdown. Links are those of the site. */
export function drawHome(): string {
  return `<div class="front vp-doc">
<div class="front-top">
<div class="front-say">

# Say what a caller may do.

sluice decides it in one exact, atomic answer, and the **429 says when to come back**. A rate limiter for JavaScript servers.

<p class="front-links"><a class="front-main" href="./start.html">Get started</a><a href="./playground.html">Playground</a><a href="./api/">API</a></p>

</div>
<div class="front-code">

${samples()}

The 16th request in a row gets:

\`\`\`http
${quotedRefusal().split("\n").filter((line) => /^(?:HTTP|RateLimit:|Retry-After)/.test(line)).join("\n")}
\`\`\`

</div>
<div class="front-edge">

![Limit 5 in 2 s, and nine requests within 0.25 s around the end of a window. sluice serves 5 of them, a fixed window 9.](/images/edge-small.svg)

</div>
</div>

## One request takes from all limits, or from none

Each user may send 60 requests a minute, use 30,000 tokens of a language model a minute and 1,000,000 a month, and have 4 requests in flight. Each request costs 2,000 tokens. After 15 in a row, the 30,000 are used up.

<details><summary>The whole answer to the 16th request</summary>

${quotedRefusal()}

</details>

## The limit is exact

In any period of T seconds, a caller gets at most \`capacity + rate × T\` requests. A counter that restarts with each window serves 9 around its edge, where the limit is 5. [Try it with your own numbers](/playground.md), or see [how other libraries count](/comparison.md).

<ul class="front-figures">
<li><b>&lt; 1 µs</b> for a decision in memory</li>
<li><b>2.2 to 7 times</b> the decisions of rate-limiter-flexible over Redis, for 512 callers</li>
<li><b>40 bytes</b> for a caller, and a fixed bound for all</li>
<li><b>0</b> dependencies</li>
</ul>

Each number is [measured](/performance.md), with the commands that measure it.

## Where to go

- [Get started](/start.md): a limited server in five minutes. sluice is not on npm yet: the page says how to install it.
- [Concepts](/concepts.md): what a bucket, a policy and a key are.
- [Outages](/guides/outages.md): what happens when Redis or Postgres is down.
- [The client](/client.md): a \`fetch\` that waits as long as a 429 says.
- [Moving here](/moving/index.md) from another rate limiter, option by option.
- [Shared stores](/guides/scaling.md), [metrics and logging](/guides/metrics.md), [errors](/guides/errors.md), [security](/security.md).

</div>
`;
}
