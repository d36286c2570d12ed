export { isInnerCall, rateLimit } from "../../../../servers/nitro.js"; // in an app: the file itself
