import theme from "vitepress/theme-without-fonts"; // the reader's own fonts: nothing to load
import { CHART_STYLE } from "../../../simulate/src/chart/index.js";
import TwoslashFloatingVue from "@shikijs/vitepress-twoslash/client";
import "@shikijs/vitepress-twoslash/style.css";
import "./front.css";
import "./style.css";

export default {
  ...theme,
  enhanceApp({ app }: Parameters<NonNullable<typeof theme.enhanceApp>>[0]) {
    app.use(TwoslashFloatingVue);
    if (typeof document === "undefined") return;
    document.head.append(Object.assign(document.createElement("style"), { textContent: CHART_STYLE }));
  },
};
