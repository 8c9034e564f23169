import assert from "node:assert/strict";
import { test } from "node:test";
import {
  createCredentialCache,
  type CredentialCacheOptions,
  renewalTime,
} from "../../../src/kube/access/credential-cache.ts";
import { type Credentials, stampFiles } from "../../../src/kube/access/resolution.ts";
import { waitFor } from "../../wait-for.ts";
import { replace, withFiles } from "./kubeconfigs.ts";

interface Answer {
  token?: string;
  server?: string;
  expiresAt?: number;
  fails?: string;
  invalid?: string;
  warning?: string;
}

/** A resolution that gives the answers one after the other, then the last one again and again. */
async function setUp(answers: Answer[], paths: string[] = [], options: CredentialCacheOptions = {}) {
  const requests: boolean[] = [];
  const said: string[] = [];
  let time = 1_000_000;
  const say = (message: string, fields?: object) => {
    said.push(
      `${message} ${JSON.stringify(fields, (_, value) => value instanceof Error ? value.message : value)}`,
    );
  };
  const cache = await createCredentialCache(async ({ rejected }) => {
    const answer = answers[Math.min(requests.length, answers.length - 1)]!;
    requests.push(rejected);
    if (answer.invalid) throw new Error(answer.invalid);
    const { token, expiresAt, fails, warning, server = "https://k8s.test" } = answer;
    const files = await stampFiles(paths);
    const credentials: Credentials = {
      headers: { authorization: `Bearer ${token}` },
      tls: { rejectUnauthorized: true },
      expiresAt,
      warning,
    };
    const target = { context: `context "c"`, kind: "token", server, files };
    return { target, credentials: fails ? Promise.reject(new Error(fails)) : Promise.resolve(credentials) };
  }, { now: () => time, log: { info: say, warn: say }, checkMs: 0, ...options });
  return {
    cache,
    requests,
    said,
    token: async () => String((await cache.credentials()).headers.authorization).replace("Bearer ", ""),
    pass: (ms: number) => time += ms,
    now: () => time,
  };
}

test("createCredentialCache() resolves once for all callers while nothing happens", async () => {
  const { token, requests } = await setUp([{ token: "a" }]);
  assert.deepEqual(await Promise.all([token(), token(), token()]), ["a", "a", "a"]);
  assert.deepEqual(requests, [false]);
});

test("renewalTime() is a minute before the expiry, or a quarter of a short life", () => {
  assert.equal(renewalTime({ expiresAt: 3_600_000 }, 0), 3_540_000);
  assert.equal(renewalTime({ expiresAt: 40_000 }, 0), 30_000);
  assert.equal(renewalTime({}, 0), Infinity);
});

test("createCredentialCache() renews in the background before the expiry, and makes callers wait after it", async () => {
  const scene = await setUp([{ token: "a", expiresAt: 1_100_000 }, { token: "b", expiresAt: 1_200_000 }, {
    token: "c",
  }]);
  assert.equal(await scene.token(), "a");
  scene.pass(80_000);
  assert.equal(await scene.token(), "a", "still good: no one waits");
  await waitFor("the next credential", async () => await scene.token() === "b");
  scene.pass(200_000);
  assert.equal(await scene.token(), "c");
  assert.deepEqual(scene.requests, [false, false, false]);
});

test("createCredentialCache() gets another credential after a rejection, and asks ever more rarely if it is the same", async () => {
  const scene = await setUp([{ token: "a" }, { token: "b" }]);
  assert.equal(await scene.token(), "a");
  scene.cache.reject();
  assert.equal(await scene.token(), "b");
  assert.deepEqual(scene.requests, [false, true]);
  for (let times = 0; times < 100; times++) {
    scene.cache.reject();
    assert.equal(await scene.token(), "b");
    scene.pass(100);
  }
  assert.ok(scene.requests.length <= 8, `${scene.requests.length} resolutions in 10 s`);
});

test("createCredentialCache() keeps the last good credential while a renewal fails, and says so", async () => {
  const scene = await setUp([{ token: "a", expiresAt: 1_100_000 }, { fails: "please log in" }, {
    invalid: "broken",
  }, {
    token: "b",
  }]);
  await scene.token();
  scene.pass(150_000);
  assert.equal(await scene.token(), "a");
  assert.match(scene.said.join(), /the last one stays in use .*please log in/);
  assert.equal(await scene.token(), "a");
  assert.equal(scene.requests.length, 2, "not again at once");
  scene.pass(2000);
  assert.equal(await scene.token(), "a");
  assert.match(scene.said.join(), /broken/);
  scene.pass(4000);
  assert.equal(await scene.token(), "b");
});

test("createCredentialCache() starts without a credential, and reports its problem to callers until there is one", async () => {
  const scene = await setUp([{ fails: "no network" }, { token: "a" }]);
  await assert.rejects(scene.token(), /no network/);
  await assert.rejects(scene.token(), /no network/);
  scene.pass(2000);
  assert.equal(await scene.token(), "a");
});

test("createCredentialCache() refuses to start with an invalid kubeconfig", async () => {
  await assert.rejects(setUp([{ invalid: "config: not valid YAML" }]), /not valid YAML/);
});

test("createCredentialCache() uses changed files without a rejection, also one that appears later", async () => {
  await withFiles({ config: "1" }, async (at) => {
    const scene = await setUp([{ token: "a" }, { token: "b" }, { token: "c" }], [at("config"), at("later")]);
    assert.equal(await scene.token(), "a");
    await replace(at("config"), "2");
    await waitFor("the changed file is used", async () => await scene.token() === "b");
    await replace(at("later"), "3");
    await waitFor("the new file is used", async () => await scene.token() === "c");
    assert.deepEqual(scene.requests, [false, false, false]);
  });
});

test("createCredentialCache() looks at a changed file at once, even after failures", async () => {
  await withFiles({ config: "1" }, async (at) => {
    const scene = await setUp([{ token: "a" }, { invalid: "config: not valid YAML" }, { token: "b" }], [
      at("config"),
    ]);
    await scene.token();
    await replace(at("config"), "broken");
    await waitFor("it is reported", async () => await scene.token() === "a" && scene.said.length > 0);
    for (let times = 0; times < 20; times++) assert.equal(await scene.token(), "a");
    assert.equal(scene.requests.length, 2, "a broken file is not read again and again");
    await replace(at("config"), "repaired");
    await waitFor("the repaired file is used", async () => await scene.token() === "b");
  });
});

test("createCredentialCache() never changes the server, nor sends it the credential for another", async () => {
  const scene = await setUp([{ token: "a" }, { token: "b", server: "https://other.test" }]);
  await scene.token();
  scene.cache.reject();
  assert.equal(await scene.token(), "a");
  assert.match(scene.said.join(), /names another server, https:\/\/other\.test: restart to use it/);
  const override = await setUp([{ token: "a" }, { token: "b", server: "https://other.test" }], [], {
    ignoreServer: true,
  });
  override.cache.reject();
  assert.equal(await override.token(), "a");
  override.cache.reject();
  assert.equal(await override.token(), "b");
});

test("createCredentialCache() passes on a warning", async () => {
  const { token, said } = await setUp([{ token: "a", warning: "cannot save the new refresh token" }]);
  await token();
  assert.match(said.join(), /cannot save the new refresh token/);
});
