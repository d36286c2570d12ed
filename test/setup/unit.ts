// For the unit project, whose files share a worker. The files of the other projects have one each, and some of their servers
// warn on purpose.
import { leaveNothingBehind } from "./left-behind.js";
import { failOnWarnings } from "./warnings.js";

// Of the hooks after a file, the first one that is registered here runs last.
leaveNothingBehind();
failOnWarnings();
