import assert from "node:assert/strict";
import { test } from "node:test";
import { followApps } from "../../bench/fleet/changes.ts";
import { accept, isWatch, json, line, listOf, ncapp, withClient } from "../kube/fake-server.ts";

const limit = { timeout: 30_000 };

test(
  "a change arrives with the status of the new run, even if that is seen before the answer",
  limit,
  async () => {
    const running = (generation: number, startTime: string) => ({
      ...ncapp("a", "node-a", { uid: "1", generation, resourceVersion: String(10 + generation) }),
      status: { phase: "Running" as const, observedGeneration: generation, startTime },
    });
    const watch = Promise.withResolvers<(text: string) => void>();
    await withClient(async ({ method, query }, response) => {
      if (isWatch({ query })) {
        accept(response);
        return watch.resolve((text) => response.write(text));
      }
      if (method !== "PATCH") return json(response, listOf([running(1, "2026-01-01T00:00:00Z")]));
      const write = await watch.promise;
      write(line("MODIFIED", running(2, "2026-01-01T00:00:09Z")));
      json(response, running(2, "2026-01-01T00:00:00Z"));
    }, async (client) => {
      await using changer = await followApps(client);
      const { times, refused } = await changer.change({ names: ["a"], perSecond: 1000, patienceMs: 20_000 });
      assert.deepEqual([times.length, refused], [1, 0]);
    });
  },
);
