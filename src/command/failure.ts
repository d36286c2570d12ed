/** The store did not answer: the message is printed without a stack, and the exit code is 1. */
export class StoreFailure extends Error {
  override readonly name = "StoreFailure";
}
