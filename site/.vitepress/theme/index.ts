import theme from "vitepress/theme-without-fonts"; // the reader's own fonts: nothing to load
import "./style.css";

export default theme;
