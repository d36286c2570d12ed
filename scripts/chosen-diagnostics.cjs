// The checks of setup, for CommonJS: what `#diagnostics` names under the conditions of the tool that reads this. Jest
// before 29 cannot read that name and gets the checks by their file.
"use strict";
// Outside of the `try`: Rollup leaves a `require` alone that stands in one.
const read = () => require("#diagnostics");
// Not `require`: a bundler would then include the checks under the condition "production" too.
const { require: load } = module;
let checks;
try {
  checks = read();
} catch {
  checks = load("./index.cjs");
}
module.exports = checks;
