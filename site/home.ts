// The home page: what sluice is, the sample on each framework, its 429, the picture, one row for each reason, and what to add.
import { readFileSync } from "node:fs";
import { join } from "node:path/posix";
import { packageFor } from "../scripts/write-install.mjs";
import { ROOT } from "./links.js";

const TABS = { express: "Express", fastify: "Fastify", hono: "Hono", nest: "NestJS", next: "Next.js" } as const;

const read = (path: string): string => readFileSync(join(ROOT, path), "utf8").trimEnd();

/** The part of a page that `pattern` finds. */
function partOf(path: string, pattern: RegExp): string {
  const [, part] = pattern.exec(read(path)) ?? [];
  if (part === undefined) throw new Error(`Expected ${pattern} in ${path}, found none`);
  return part;
}

/** The refusal that "Get started" quotes. A test proves it. */
const quotedRefusal = (): string => partOf("docs/README.md", /^<!-- docs: answer quick-start 429 -->\n```http\n([^]*?)\n```$/m);

/** The README's table of what to add. */
const nextSteps = (): string => partOf("README.md", /^(\| you want \| write \|\n(?:\|.*\n)+)/m);

/** The sample on each framework, as tabs. */
function samples(): string {
  return `::: code-group\n${Object.entries(TABS).map(([file, name]) => `\`\`\`ts [${name}]\n${read(`examples/quick-start/${file}.ts`)}\n\`\`\``).join("\n")}\n:::`;
}

/** The page's text, in Markdown. Links are those of the site, or addresses of the repository. */
export function drawHome(): string {
  const { version } = JSON.parse(read("package.json")) as { readonly version: string };
  return `<div class="front vp-doc">
<div class="front-top">
<div class="front-say">

# A rate limiter for JavaScript servers

Each caller gets a burst and a steady rate, in one process or in many. A refused caller learns **exactly how long to wait**.

<p class="front-links"><a class="front-main" href="./start.html">Get started</a><a href="./playground.html">Playground</a><a href="./api/">API</a></p>

</div>
<div class="front-code">

${samples()}

The 101st request of a burst gets:

\`\`\`http
${quotedRefusal().split("\n").filter((line) => /^(?:HTTP|RateLimit:|Retry-After)/.test(line)).join("\n")}
\`\`\`

100 at once, then 100 a minute: up to 200 in the first minute. For [never more than 100 in any minute](/guides/rate-window-quota.md) write \`capacity: 100, returns: afterMs(60_000)\`.

<p class="front-install"><code>npm install ${packageFor(version)}</code></p>

</div>
<div class="front-edge">

![Limit 5 in 2 s, and a caller that comes around the end of a window. sluice serves 5 requests in 0.25 s, and then one every 0.4 s. A fixed window serves 9 in 0.25 s, and then none. In 2 s each serves 10.](/images/edge-small.svg)

</div>
</div>

<ul class="front-reasons">
<li><b>5, not 9</b><div>

**The limit is exact.** For "5 in 2 s" a fixed window serves 9 in 0.25 s around its edge. A bucket serves 5, and then one every 0.4 s. [Try your own numbers](/playground.md), or see [how other libraries count](/comparison.md).

</div></li>
<li><b>1, not 10</b><div>

**All limits of a policy, or none.** They are charged in one atomic step. If a burst limit refuses 9 of 10 requests, the daily limit counts 1. Two limiters, one after the other, [count 10](/comparison.md).

</div></li>
<li><b>100 ms</b><div>

**It works when the store is down.** If Redis or Postgres fails or takes longer, each process enforces [its share of the limit](/guides/outages.md): set \`sharedBy\` to your number of processes.

</div></li>
<li><b>&lt; 1 µs</b><div>

**It costs little.** That is a decision in memory, with 40 bytes a caller and no dependencies. Over Redis one caller at a time costs the same as elsewhere, and many at once [share a call](/performance.md).

</div></li>
</ul>

## Then add

Each row goes into the sample, the first six in place of \`refill\`:

${nextSteps()}
## Where to go

- [Get started](/start.md): the server above, and its answers, in five minutes.
- [Recipes](/guides/recipes.md): the shortest code for common tasks.
- [Moving here](/moving/index.md) from another rate limiter, option by option.
- [Concepts](/concepts.md): what a bucket, a policy and a key are.
- [Metrics and logging](/guides/metrics.md), [errors](/guides/errors.md), [security](/security.md).

</div>
`;
}
