import type { Policy } from "../../core/policy.js";
import { withProcess } from "../../platform.js";
import { isQuiet, warnOnce } from "../../warnings/warnings.js";

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

/** Set while code is built, or runs on a developer's machine. */
const NOT_DEPLOYED = ["CI", "NETLIFY_DEV", "AWS_SAM_LOCAL", "FUNCTIONS_EMULATOR", "IS_OFFLINE"];

type Env = Readonly<Record<string, string | undefined>>;

/** Warns of a limit in memory where each instance of the service has its own. */
export function checkSharedMemory({ name }: Policy): void {
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
  return PLATFORMS.find(([, ...variables]) => variables.some((variable) => env[variable]))?.[0];
}
