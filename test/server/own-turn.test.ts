import assert from "node:assert/strict";
import { test } from "node:test";
import { ownTurn } from "../../src/server/own-turn.ts";

test("each of those who ask at once has a turn of the event loop alone, in the order in which they asked", async () => {
  const notes: string[] = [];
  let turns = 0;
  const count = () => {
    notes.push(`turn ${++turns}`);
    if (notes.filter((note) => note.startsWith("work")).length < 3) setImmediate(count);
  };
  const works = ["a", "b", "c"].map((name) => ownTurn().then(() => notes.push(`work ${name}`)));
  setImmediate(count);
  await Promise.all(works);
  const together = notes.join(", ").split(/turn \d+/).filter((between) => between.split("work").length > 2);
  assert.deepEqual(together, [], notes.join(", "));
  assert.deepEqual(notes.filter((note) => note.startsWith("work")), ["work a", "work b", "work c"]);
});
