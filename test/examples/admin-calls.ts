// Calls of the operators' page of examples/admin, and of the service beside it.
import { expect } from "vitest";

export const PASSWORD = "correct horse battery";

/** Calls the service as a user. */
export async function call(url: string, user: string, path = "/inbox"): Promise<number> {
  const response = await fetch(url + path, { headers: { authorization: `Bearer token-of-${user}`, connection: "close" } });
  await response.text();
  return response.status;
}

/** Posts to the page as a browser does. */
export function post(admin: string, path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Response> {
  return fetch(`${admin}/api/${path}`, { method: "POST", headers: { origin: admin, "content-type": "application/json", ...headers }, body: typeof body === "string" ? body : JSON.stringify(body) });
}

/** The headers of an operator who is signed in. */
export async function signedIn(admin: string): Promise<{ cookie: string }> {
  const response = await post(admin, "sign-in", { name: "ann", password: PASSWORD });
  expect(response.status).toBe(200);
  return { cookie: response.headers.get("set-cookie")?.split(";")[0] ?? "" };
}
