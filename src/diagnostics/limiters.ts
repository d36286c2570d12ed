import { memberOf } from "../core/check.js";
import { monotonicClock } from "../core/clock.js";
import type { Policy } from "../core/policy.js";
import type { Store } from "../port/store.js";
import { builtin, withProcess } from "../platform.js";
import { isQuiet, warnOnce } from "../warnings/warnings.js";
import { noteName } from "./moving/policy-name.js";
import { checkPolicyName } from "./policy-names.js";
import { checkQuota } from "./quotas.js";
import { checkClientTimeout } from "./stores/client-timeout.js";

// An application that makes 100 limiters of one policy within a minute makes one for each request.
const MANY = 100;
const MINUTE_MS = 60_000;
// The most policies that are counted within a minute.
const MOST_POLICIES = 1_000;

/**
 * Warns about a limiter for each request, a store with 1,000 policy names, and local memory in a cluster or where
 * nothing is shared.
 */
export function checkLimiter(policy: Policy, store: Store): void {
  noteName(policy.name);
  // Tests make hundreds of limiters, with clocks of their own.
  const isOwn = store.clock === "server" || store.clock === monotonicClock;
  // A synchronous store without a guard is in this process's memory.
  const isMemory = store.sync && memberOf(store, "guard") === undefined;
  checkQuota(policy, isMemory);
  checkClientTimeout(policy, store);
  if (!isOwn && store.clock !== Date.now) return;
  if (isOneOfMany(policy)) {
    warnOnce(
      "SLUICE_LIMITER_PER_REQUEST",
      `${MANY} limiters of policy "${policy.name}" were made within a minute. Make one and reuse it. In tests, which make an ` +
      'app each, silenceWarnings("SLUICE_LIMITER_PER_REQUEST")',
    );
  }
  checkPolicyName(store, policy.name);
  if (isMemory) checkSharedMemory(policy);
  if (isMemory && isClusterWorker()) {
    warnOnce(
      "SLUICE_MEMORY_IN_CLUSTER",
      `Each worker of this cluster counts policy "${policy.name}" separately, in its memory. Use a store that all workers share`,
    );
  }
}

const made = new Map<string, number>();
let countingSince = -Infinity;
let wasCountedNow = false;

function isOneOfMany(policy: Policy): boolean {
  if (wasCountedNow || isQuiet("SLUICE_LIMITER_PER_REQUEST") || isTest()) return false;
  // Limiters made in one turn, such as one for each of many routes, count as one.
  wasCountedNow = true;
  queueMicrotask(() => (wasCountedNow = false));
  const now = monotonicClock();
  if (now - countingSince > MINUTE_MS || made.size >= MOST_POLICIES) {
    made.clear();
    countingSince = now;
  }
  const numbers = JSON.stringify([
    policy.name, ...policy.limits.map(({ capacity, refill, renews, returns }) => [capacity, refill ?? renews ?? returns]),
  ]);
  const count = (made.get(numbers) ?? 0) + 1;
  made.set(numbers, count);
  return count >= MANY;
}

/** Whether a test runner started the process. Each test may make its own app. */
function isTest(): boolean {
  const runners = ["VITEST", "JEST_WORKER_ID", "NODE_TEST_CONTEXT"];
  return withProcess(({ env }) => env?.["NODE_ENV"] === "test" || runners.some((variable) => env?.[variable])) === true;
}

function isClusterWorker(): boolean {
  // Only a process with a channel to its parent can be a worker. Other processes should not load the module.
  if (withProcess(({ send }) => send) === undefined || isQuiet("SLUICE_MEMORY_IN_CLUSTER")) return false;
  return builtin<{ readonly isWorker: boolean }>("node:cluster")?.isWorker === true;
}

/** Platforms that start as many instances as they need, and the variables by which each is known. */
const PLATFORMS: ReadonlyArray<readonly [name: string, ...variables: string[]]> = [
  ["Netlify", "NETLIFY"],
  ["Vercel", "VERCEL", "NOW_REGION"],
  ["AWS Lambda", "AWS_LAMBDA_FUNCTION_NAME", "LAMBDA_TASK_ROOT"],
  ["Google Cloud Functions", "FUNCTION_TARGET", "FUNCTION_NAME"],
  ["Cloud Run", "K_SERVICE", "K_REVISION"],
  ["App Engine", "GAE_SERVICE", "GAE_ENV", "GAE_INSTANCE"],
  ["Azure Functions", "FUNCTIONS_WORKER_RUNTIME", "AZURE_FUNCTIONS_ENVIRONMENT"],
  ["Azure Container Apps", "CONTAINER_APP_NAME"],
  ["Deno Deploy", "DENO_DEPLOYMENT_ID", "DENO_DEPLOY"],
  ["Supabase", "SB_EXECUTION_ID"],
  ["Alibaba Function Compute", "FC_FUNCTION_NAME"],
  ["Tencent Cloud", "SCF_FUNCTIONNAME", "TENCENTCLOUD_RUNENV"],
  ["IBM Code Engine", "CE_APP", "CE_FUNCTION"],
  ["OpenWhisk", "__OW_ACTION_NAME"],
  ["Oracle Functions", "FN_FN_ID"],
];

/**
 * Variables in which a platform counts the processes of a service, and the number of the first one. A process with a
 * higher number is not alone. Others cannot know: a Deployment of Kubernetes does not tell its pods how many they are.
 */
const NUMBERED: ReadonlyArray<readonly [name: string, variable: string, number: RegExp, first: number]> = [
  ["PM2", "NODE_APP_INSTANCE", /^(\d+)$/, 0],
  ["Heroku", "DYNO", /^(?!run\.|release\.|scheduler\.)[\w-]+\.(\d+)$/, 1],
  ["Cloud Foundry", "CF_INSTANCE_INDEX", /^(\d+)$/, 0],
  ["Nomad", "NOMAD_ALLOC_INDEX", /^(\d+)$/, 0],
  ["Clever Cloud", "INSTANCE_NUMBER", /^(\d+)$/, 0],
  ["Scalingo", "CONTAINER", /^(?!one-off-)[\w-]+-(\d+)$/, 1],
];

/** Set while code is built, or runs on a developer's machine. */
const NOT_DEPLOYED = ["CI", "NETLIFY_DEV", "AWS_SAM_LOCAL", "FUNCTIONS_EMULATOR", "IS_OFFLINE"];

type Env = Readonly<Record<string, string | undefined>>;

/** Warns of a limit in memory where each instance of the service has its own. */
function checkSharedMemory({ name }: Policy): void {
  if (isQuiet("SLUICE_MEMORY_NOT_SHARED")) return;
  const platform = withProcess(({ env }) => env && platformOf(env));
  if (platform === undefined) return;
  warnOnce(
    "SLUICE_MEMORY_NOT_SHARED",
    `Expected a store that all instances on ${platform} share, got the memory of each: policy "${name}" grants its limit ` +
    'once for each. Use RedisStore or PostgresStore; for a single instance, silenceWarnings("SLUICE_MEMORY_NOT_SHARED")',
  );
}

function platformOf(env: Env): string | undefined {
  if (NOT_DEPLOYED.some((variable) => env[variable]) || env["VERCEL_ENV"] === "development") return undefined;
  return PLATFORMS.find(([, ...variables]) => variables.some((variable) => env[variable]))?.[0] ?? countedOn(env);
}

/** The platform that counts its processes, if this is not the first one: `"Heroku (DYNO=web.3)"`. */
function countedOn(env: Env): string | undefined {
  // A worker of a cluster has a warning of its own.
  if (env["exec_mode"] === "cluster_mode") return undefined;
  for (const [name, variable, number, first] of NUMBERED) {
    const text = env[variable] ?? "";
    if (Number(number.exec(text)?.[1] ?? first) > first) return `${name} (${variable}=${text})`;
  }
  // The pods of a StatefulSet are numbered. Those of a Deployment end in five characters.
  const host = env["KUBERNETES_SERVICE_HOST"] ? (env["HOSTNAME"] ?? "") : "";
  return Number(/-(\d{1,4})$/.exec(host)?.[1] ?? 0) > 0 ? `Kubernetes (HOSTNAME=${host})` : undefined;
}
