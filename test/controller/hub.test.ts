import assert from "node:assert/strict";
import { test } from "node:test";
import { createControllers } from "../../src/controller/controller.ts";
import { silentLogger } from "../../src/lib/log.ts";
import { FakeApi } from "../kube/fake-api.ts";
import { isStream, isWatch, withClient } from "../kube/fake-server.ts";
import { waitFor } from "../wait-for.ts";

test("the controllers of a process list and watch what they share once", async () => {
  await withClient(new FakeApi().answer, async (client, { requests }) => {
    const settings = {
      client,
      log: silentLogger,
      identity: "me",
      schedulerName: "nc-scheduler",
      policy: "spread",
    };
    const elected = await createControllers(["scheduler", "sets"], settings as never);
    const ending = new AbortController();
    const following = elected.map(({ controller }) => controller.follow(ending.signal));
    const states = () => elected.flatMap(({ controller }) => controller.followers());
    await waitFor("everything is watched", () => states().every(({ listed, alive }) => listed && alive));
    ending.abort();
    await Promise.all(following);
    const listed = requests.filter((request) => !isStream(request) && !isWatch(request)).map(({ path }) =>
      path.split("/").at(-1)
    );
    assert.deepEqual(listed.sort(), [
      ...["controllerrevisions", "leases", "limitranges", "ncapps", "ncappsets", "nodes"],
      ...["poddisruptionbudgets", "priorityclasses", "resourcequotas"],
    ]);
    assert.equal(states().length, 13);
  });
});
