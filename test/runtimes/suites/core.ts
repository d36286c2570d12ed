// The laws of the core, and the limiter over memory, against the independent model.
import "../../core/bad-input.test.js";
import "../../core/key.test.js";
import "../../core/laws-bound.test.js";
import "../../core/laws-model.test.js";
import "../../core/laws-numbers.test.js";
import "../../core/laws-promise.test.js";
import "../../core/laws-snapshot.test.js";
import "../../core/laws-together.test.js";
import "../../core/limit.test.js";
