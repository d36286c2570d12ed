import theme from "vitepress/theme-without-fonts"; // the reader's own fonts: nothing to load
import { CHART_STYLE } from "../../../src/command/chart/index.js";
import "./front.css";
import "./style.css";

export default {
  ...theme,
  enhanceApp() {
    if (typeof document === "undefined") return;
    document.head.append(Object.assign(document.createElement("style"), { textContent: CHART_STYLE }));
  },
};
