// The button of react/login-code.tsx, as an app has it.
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { LoginCode } from "../../react/login-code.js";

const root = createRoot(document.getElementById("app") as HTMLElement);
root.render(
  <StrictMode>
    <h1>Log in</h1>
    <label>
      Phone <input defaultValue="+1 555 0100" />
    </label>
    <LoginCode phone="+1 555 0100" />
  </StrictMode>,
);
Object.assign(window, { leave: () => root.unmount() });
