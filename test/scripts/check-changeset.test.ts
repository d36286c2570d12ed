// A change of the public face needs a changeset.
import { expect, test } from "vitest";
import { reportsWithoutChangeset } from "../../scripts/check-changeset.mjs";

const report = "M\ttest/package/api/index.api.md";

test.each<[what: string, diff: readonly string[], told: readonly string[]]>([
  ["nothing public", ["M\tsrc/core/key.ts", "M\ttest/package/tarball.test.ts"], []],
  ["a report alone", [report], ["test/package/api/index.api.md"]],
  ["a report and a new changeset", [report, "A\t.changeset/a-new-option.md"], []],
  ["a report and a changed changeset", [report, "M\t.changeset/a-new-option.md"], ["test/package/api/index.api.md"]],
  ["a report and a changed page", [report, "A\t.changeset/README.md", "A\tdocs/new.md"], ["test/package/api/index.api.md"]],
  ["a new entry", ["A\ttest/package/api/memcached.api.md"], ["test/package/api/memcached.api.md"]],
  ["a removed entry", ["D\ttest/package/api/client-traffic.api.md"], ["test/package/api/client-traffic.api.md"]],
])("%s", (_, diff, told) => expect(reportsWithoutChangeset(diff.join("\n"))).toEqual(told));
