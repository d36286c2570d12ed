/** A mistake in the arguments of a command: its message is printed without a stack, and the exit code is 2. */
export class Misuse extends Error {
  override readonly name = "Misuse";
}
