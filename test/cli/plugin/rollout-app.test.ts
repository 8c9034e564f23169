import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations } from "../../../src/api/names.ts";
import type { NCApp } from "../../../src/api/types.ts";
import { ncapps, resourcePath } from "../../../src/kube/resources.ts";
import { ncapp } from "../../builders.ts";
import { appOf, createApi, rollout } from "./set-scene.ts";

const path = resourcePath(ncapps, { namespace: "shop", name: "db" });
const since = "2026-11-17T00:00:00Z";

/** An API server with a set and the app shop/db. */
function apiWith(
  states: ("Trial" | "Good" | "Previous" | "Refused")[],
  fields: Partial<NCApp["status"]> = {},
) {
  const api = createApi();
  const revisions = states.map((state) => ({ revision: `v-${state}`, state, since, reason: "" }));
  api.add(
    ncapps,
    ncapp({
      metadata: { namespace: "shop", name: "db", generation: 2 },
      status: { observedGeneration: 2, revisions, ...fields },
    }),
  );
  api.add(ncapps, appOf("edge-1", "new", {}));
  return api;
}

test("history lists the versions of a single app", async () => {
  const { stdout } = await rollout(apiWith(["Good", "Refused"]), ["history", "db"]);
  assert.deepEqual(stdout.replaceAll(/\d+[smhd]\S*/g, "AGE").replaceAll(/ +/g, " ").trimEnd().split("\n"), [
    "VERSION STATE SINCE REASON",
    "v-Good Good AGE",
    "v-Refused Refused AGE",
  ]);
  assert.equal(
    (await rollout(apiWith([]), ["history", "ncapp/db"])).stdout,
    "shop/db has no versions yet.\n",
  );
});

test("undo of a single app asks its node for the good version, or for the one before", async () => {
  for (
    const [states, target] of [[["Trial", "Good"], "v-Good"], [["Good", "Previous"], "v-Previous"]] as const
  ) {
    const api = apiWith([...states]);
    const { code, stdout } = await rollout(api, ["undo", "db"]);
    assert.deepEqual([code, stdout], [0, `shop/db goes back to version ${target}\n`]);
    assert.ok(api.get(path).metadata.annotations[annotations.undoneAt]);
  }
});

test("undo of a single app is refused if there is nothing to undo, or its node has not seen the last edit", async () => {
  const refusal = async (api: ReturnType<typeof apiWith>, ...words: string[]) =>
    (await rollout(api, words)).stderr;
  assert.match(await refusal(apiWith(["Good"]), "undo", "db"), /there is nothing to undo/);
  assert.match(
    await refusal(apiWith(["Trial", "Good"], { observedGeneration: 1 }), "undo", "db"),
    /has not seen/,
  );
  assert.match(
    await refusal(apiWith(["Good"]), "undo", "web-edge-1"),
    /belongs to set shop\/web: name the set/,
  );
  assert.match(
    await refusal(apiWith(["Good"]), "undo", "db", "--to-revision", "1"),
    /--to-revision is for sets/,
  );
  assert.match(await refusal(apiWith(["Good"]), "pause", "db"), /no NCAppSet shop\/db/);
  assert.match(await refusal(apiWith(["Good"]), "undo", "dc"), /no NCAppSet shop\/dc/);
});
