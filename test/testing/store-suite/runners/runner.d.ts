declare module "runner" {
  export const test: import("sluice/testing").TestFunction;
}
