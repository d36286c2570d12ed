/**
 * Whether a status is that of a redirect. A redirect that `respond` or `unidentified` sends has no fields of a limit,
 * because clients wait for `Retry-After` before they follow a redirect (RFC 9110, section 10.2.3). An `r` of 0 may make
 * them wait, too.
 */
export function isRedirect(status: number): boolean {
  return status >= 300 && status < 400;
}
