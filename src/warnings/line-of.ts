type ErrorMembers = Readonly<Partial<Record<"name" | "message" | "code" | "cause" | "errors" | "lastNodeError", unknown>>>;

// An error is rarely wrapped more often, and a chain of causes can be a circle.
const MOST_CAUSES = 3;

/** An error and its causes, the first three. */
export function withCauses(error: unknown): readonly unknown[] {
  const all = [error];
  for (let cause = causeOf(error); cause !== undefined && all.length < MOST_CAUSES; cause = causeOf(cause)) all.push(cause);
  return all;
}

/**
 * The messages of an error and of its causes, in one line: "The store did not answer within 100 ms: connect
 * ECONNREFUSED".
 */
export function lineOf(error: unknown): string {
  return inOneLine(messagesOf(error).join(": "));
}

/** The message of the last cause of an error, in one line: "connect ECONNREFUSED". */
export function rootLineOf(error: unknown): string {
  return inOneLine(messagesOf(error).at(-1) ?? "");
}

function messagesOf(error: unknown): readonly string[] {
  const texts: string[] = [];
  for (const each of withCauses(error)) {
    const { name, message, code } = Object(each) as ErrorMembers;
    // An error of several addresses has a code and no message.
    if (message || causeOf(each) === undefined) texts.push(String(message || code || name || each).replace(/\.$/, ""));
  }
  return texts.filter((text, i) => texts.indexOf(text) === i);
}

const inOneLine = (text: string): string =>
  text.replace(/[\0-\x1F\x7F-\x9F]+/g, " ").slice(0, 200); // oxlint-disable-line no-control-regex

/** The error behind an error: its cause, the first of several, or that of a cluster's last node. */
function causeOf(error: unknown): unknown {
  const { cause, errors, lastNodeError } = Object(error) as ErrorMembers;
  return cause ?? (Array.isArray(errors) ? (errors[0] as unknown) : undefined) ?? lastNodeError;
}
