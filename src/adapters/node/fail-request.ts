import { asError } from "../../http/user-functions.js";
import type { NodeResponse } from "./response.js";

/** Passes an error to Express's `next`. `next(undefined)` and `next("route")` would run the handler. */
export function failRequest(error: unknown, response: Pick<NodeResponse, "destroy">, next: (error: Error) => unknown): void {
  try {
    next(asError(error));
  } catch {
    // A hook on the response, such as one on writeHead, also fails for the error page.
    response.destroy();
  }
}
