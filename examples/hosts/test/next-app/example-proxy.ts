// In the app, the example itself is in this place.
export { proxy } from "../../servers/next/proxy.js";
