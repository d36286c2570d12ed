// The home page: the one thought, the sample on each framework, its 429, the picture, and what was measured.
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

<img class="front-logo" src="/images/logo.svg" alt="" width="56">

# Say what a caller may do.

sluice decides it in one exact, atomic answer, and the **429 says when to come back**. A rate limiter for JavaScript servers.

<p class="front-links"><a class="front-main" href="./start.html">Get started</a><a href="./playground.html">Playground</a><a href="./api/">API</a></p>

<p class="front-note">Not on npm yet: in a clone of the repository, <code>npm ci && npm run build && npm pack</code> makes a file for <code>npm install</code>.</p>

\`\`\`sh
npm install sluice
\`\`\`

The 16th request at once gets:

\`\`\`http
${quotedRefusal().split("\n").filter((line) => /^(?:HTTP|RateLimit:|Retry-After)/.test(line)).join("\n")}
\`\`\`

</div>
<div class="front-code">

${samples()}

</div>
</div>

## One request takes from all limits, or from none

Each user may send 60 requests a minute, use 30,000 tokens a minute and 1,000,000 a month, and have 4 requests in flight. The 16th request in a row lacks tokens. This is its whole answer:

${quotedRefusal()}

## The limit is exact

![Limit 5 in 2 s, and nine requests within 0.25 s around the end of a window. sluice serves 5 of them, a fixed window 9.](/images/edge.svg)

A counter that starts again with each window serves 9 where 5 are allowed. sluice has no window. [Try it with your own numbers](/playground.md), or see [how other libraries count](/comparison.md).

<ul class="front-figures">
<li><b>&lt; 1 µs</b> for a decision in memory</li>
<li><b>2.7 to 5 times</b> the decisions of rate-limiter-flexible over Redis, for 512 callers</li>
<li><b>40 bytes</b> for a caller, and a fixed bound for all</li>
<li><b>0</b> dependencies</li>
</ul>

Each number is [measured](/performance.md), with the commands that measure it.

## Where to go

- [Get started](/start.md): a limited server in five minutes.
- [Concepts](/concepts.md): what a bucket, a policy and a key are.
- [Outages](/guides/outages.md): what happens when Redis or Postgres is down.
- [The client](/client.md): a \`fetch\` that waits as long as a 429 says.
- [Moving here](/moving/index.md) from another rate limiter, option by option.
- [Shared stores](/guides/scaling.md), [metrics and logging](/guides/metrics.md), [errors](/guides/errors.md), [security](/security.md).

</div>
`;
}
