/** How a gate reads a framework's request. */
export interface RequestReader<Request> {
  /** The name of the adapter's entry, such as `"express"`. An error about an option then links the right guide. */
  readonly adapter?: string;
  /** The method, in capitals. */
  method(request: Request): string;
  /** The value of a header field, by its lower-case name; null or undefined when the field is absent. */
  header(request: Request, name: string): string | readonly string[] | null | undefined;
  /**
   * Calls `listener` when the client disconnects, or now if it has disconnected. Returns a function that removes
   * `listener`. Without `onDisconnect`, a request that waits for its tokens stays in the queue after its client has
   * left, and a limit in flight lets its handler run.
   */
  onDisconnect?(request: Request, listener: () => void): () => void;
}
