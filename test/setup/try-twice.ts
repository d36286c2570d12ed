// Declares the first try of each test failed, to see that a second try can pass: that the first one left nothing.
import { TestRunner } from "vitest";

export default class extends TestRunner {
  override onAfterTryTask(...asked: Parameters<TestRunner["onAfterTryTask"]>): void {
    super.onAfterTryTask(...asked);
    if (asked[0].result?.retryCount === 0) throw new Error("The first try, which SLUICE_TRY_TWICE declares failed");
  }
}
