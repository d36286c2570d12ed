import fc from "fast-check";
import { expect, test } from "vitest";
import { Line, type Place } from "../../src/composed/line.js";

type Who = { readonly name: number; readonly cost: number };

function inOrder(line: Line<Who>): Who[] {
  const all: Who[] = [];
  for (let place = line.first; place !== null; place = place.after) all.push(place.who);
  return all;
}

test("a line is an array that is joined at the end and left from anywhere, once", () => {
  const calls = fc.array(fc.record({ joins: fc.boolean(), cost: fc.nat(9), which: fc.nat(40) }), { maxLength: 60, size: "max" });
  fc.assert(
    fc.property(calls, (history) => {
      const line = new Line<Who>();
      const places: Place<Who>[] = [];
      let model: Who[] = [];
      for (const [name, { joins, cost, which }] of history.entries()) {
        if (joins) {
          const who = { name, cost };
          places.push(line.join(who));
          model.push(who);
        } else {
          const place = places[which % Math.max(1, places.length)];
          if (place !== undefined) line.leave(place);
          model = model.filter((who) => who !== place?.who);
        }
        expect(inOrder(line)).toEqual(model);
        expect(line.first?.who).toBe(model[0]);
        expect([line.length, line.tokens]).toEqual([model.length, model.reduce((sum, who) => sum + who.cost, 0)]);
      }
    }),
  );
});
