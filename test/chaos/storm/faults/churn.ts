import type { Fault } from "../fault.ts";
import type { KindName } from "../kinds.ts";

const most = 22;
const coming: KindName[] = ["ticker", "writer", "daemon", "brood", "port", "always", "never", "flaky"];

/** Creates, deletes and changes many objects at a time. */
export const objectChurn: Fault = {
  name: "object churn",
  weight: 3,
  async run({ workload }, random, tell) {
    const kinds = Array.from({ length: random.integer(1, 3) }, () => random.pick(coming));
    const removals = random.integer(1, 2);
    await workload.inTurn(async () => {
      const room = Math.max(0, most - workload.apps.size);
      const welcome = kinds.slice(0, room);
      const going = random.shuffle(workload.list()).slice(0, removals);
      tell(`create ${welcome.join(", ")}; delete ${going.map(({ name }) => name).join(", ")}`);
      for (const kind of welcome) await workload.create(kind);
      for (const app of going) await workload.remove(app);
    });
  },
};

/** Deletes an object and recreates its name at once, several times in a row. */
export const recreation: Fault = {
  name: "same-name recreation",
  weight: 2,
  async run({ workload }, random, tell) {
    const times = random.integer(1, 3);
    await workload.inTurn(async () => {
      const { name } = random.pick(workload.list());
      tell(`recreate ${name} ${times} times`);
      for (let n = 0; n < times; n++) {
        const app = workload.apps.get(name);
        if (app) await workload.recreate(app);
      }
    });
  },
};

/** Changes, suspends, resumes and resizes running apps. */
export const specChurn: Fault = {
  name: "spec churn",
  weight: 2,
  async run({ workload }, random, tell) {
    const what = random.pick(["restart", "suspend", "resize"] as const);
    await workload.inTurn(async () => {
      const app = random.pick(workload.list("ticker", "writer", "daemon", "brood"));
      tell(`${what} ${app.name}`);
      if (what === "restart") await workload.restart(app, String(random.integer(1, 1e9)));
      else if (what === "suspend") await workload.suspend(app, !app.suspended);
      else await workload.resize(app, String(random.integer(1, 9)));
    });
  },
};

/** Deletes the CRD with all its objects, and recreates all of them. */
export const crdChurn: Fault = {
  name: "CRD churn",
  weight: 1,
  async run({ workload }, _random, tell) {
    await workload.inTurn(async () => {
      tell("delete the CRD and bring it back with all apps");
      await workload.churnCrd();
    });
  },
};
