// What `npm publish` is told. scripts/publish.mjs runs it.

/** The tag that npm gives a version: `next` for a candidate such as 1.0.0-rc.1, so that `npm install` never gets it. */
export const tagOf = (version) => (version.includes("-") ? "next" : "latest");

/**
 * The arguments after `npm` that publish one packed file. A rehearsal goes through for a version that npm has, too.
 * npm makes provenance from the identity of a workflow, and refuses it where there is none, as on a person's machine.
 */
export function publishArguments({ file, version, isRehearsal, env }) {
  const args = ["publish", file, "--access", "public", "--tag", tagOf(version)];
  if (isRehearsal) return [...args, "--dry-run", "--force"];
  return env["ACTIONS_ID_TOKEN_REQUEST_URL"] ? [...args, "--provenance"] : args;
}
