import type { SuiteAnswer, SuiteRequest } from "sluice/testing";

/** How the suite answers a refusal. */
export type Ask<Refused> = (refusal: Refused, request: SuiteRequest) => SuiteAnswer | undefined | Promise<SuiteAnswer | undefined>;
