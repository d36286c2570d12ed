// Rows that the functions have stored before the arithmetic was written anew: this store reads them, goes on with the
// same answers, and writes the same rows.
import { test } from "vitest";
import { describeWith } from "../../helpers/services.js";
import { ownTable } from "../../helpers/postgres.js";
import { goesOn, postgresBench } from "../../vectors/frozen/benches.js";
import { stored } from "../../vectors/frozen/history.js";

describeWith("postgres", "rows of the build before", () => {
  const table = `frozen_${process.pid}`;
  const own = ownTable(table);

  test.each(stored)("$why", async (vector) => {
    await goesOn(async () => {
      await own.pool.query(`DELETE FROM ${table}`);
      return postgresBench(own.pool, table);
    }, vector, vector.postgres);
  });
});
