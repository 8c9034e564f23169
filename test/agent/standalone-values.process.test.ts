import assert from "node:assert/strict";
import { chmod, chown, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { startTestAgent, type TestAgent } from "../cli/test-agent.ts";
import { tempFolder } from "../temp-folder.ts";
import { waitFor } from "../wait-for.ts";

const notRoot = process.getuid?.() === 0 ? false : "changes owners: needs root";

function app(name: string, shellFile: string, spec: object): string {
  const all = { shellFile, terminationGracePeriodSeconds: 1, ...spec };
  const whole = { apiVersion: "app.example.com/v1alpha1", kind: "NCApp", metadata: { name }, spec: all };
  return JSON.stringify(whole);
}

const passwordOf = (name: string, optional = false) => ({
  env: [{ name: "PASSWORD", valueFrom: { secretKeyRef: { name, key: "password", optional } } }],
});
const secret = (value: string) =>
  `apiVersion: v1\nkind: Secret\nmetadata: {name: db}\nstringData: {password: ${value}}\n`;
const show = 'echo "password=$PASSWORD region=$REGION mode=$MODE"; exec sleep 600';

const rowOf = async (agent: TestAgent, name: string) =>
  (await agent.command("ps")).stdout.split("\n").find((row) => row.includes(` ${name} `)) ?? "";
const sees = (agent: TestAgent, name: string, text: string) =>
  waitFor(
    `${name} shows ${text}`,
    async () => (await agent.command("logs", name)).stdout.includes(text),
  );

test("Secrets and ConfigMaps of the manifests folder serve its apps, and no app of the socket", async () => {
  using temp = tempFolder();
  const manifests = temp.path;
  const file = join(manifests, "secret.yaml");
  await writeFile(file, secret("hunter2"), { mode: 0o600 });
  await writeFile(
    join(manifests, "site.yaml"),
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: site}\ndata: {region: north}\n",
  );
  await using agent = await startTestAgent({ manifests });
  const script = await agent.script("show.sh", show);
  const region = { name: "REGION", valueFrom: { configMapKeyRef: { name: "site", key: "region" } } };
  const web = app("web", script, { env: [...passwordOf("db").env, region] });
  await writeFile(join(manifests, "web.json"), web);
  await sees(agent, "web", "password=hunter2 region=north");

  // A new value counts from the next start on.
  await writeFile(file, secret("hunter3"));
  await waitFor("the new Secret", async () => {
    await agent.command("restart", "web");
    return (await agent.command("logs", "web")).stdout.includes("password=hunter3");
  });

  const thief = join(agent.folder, "thief.json");
  await writeFile(thief, app("thief", script, passwordOf("db")));
  await agent.command("apply", "-f", thief);
  await waitFor("the app of the socket waits", async () => /Pending/.test(await rowOf(agent, "thief")));
  assert.match(
    await rowOf(agent, "thief"),
    /PASSWORD: Secret default\/db: this agent has no API server; apps in the folder of --manifests/,
  );

  // What is optional may be missing; what is not has a message with the folder.
  await writeFile(join(manifests, "free.json"), app("free", script, passwordOf("none", true)));
  await writeFile(join(manifests, "bound.json"), app("bound", script, passwordOf("none")));
  await sees(agent, "free", "password= ");
  await waitFor(
    "the missing Secret is named",
    async () => (await rowOf(agent, "bound")).includes(`Secret default/none does not exist in ${manifests}`),
  );
});

test("a Secret whose file others can read is refused with the reason, and a broken one keeps its last version", async () => {
  using temp = tempFolder();
  const manifests = temp.path;
  const file = join(manifests, "secret.yaml");
  await writeFile(file, secret("hunter2"), { mode: 0o644 });
  await using agent = await startTestAgent({ manifests });
  const script = await agent.script("show.sh", show);
  await writeFile(join(manifests, "web.json"), app("web", script, passwordOf("db")));
  const why = /the file has mode 0644, a Secret needs 0600 or less: chmod 600 it/;
  await waitFor("the refusal", async () => why.test(await rowOf(agent, "web")));
  assert.match(await rowOf(agent, "Secret/db"), why);
  assert.doesNotMatch((await agent.command("ps")).stdout, /hunter2/);

  await chmod(file, 0o600);
  await waitFor("the Secret is accepted", async () => {
    await agent.command("restart", "web");
    return (await agent.command("logs", "web")).stdout.includes("password=hunter2");
  });
  await writeFile(file, "apiVersion: v1\nkind: Secret\nmetadata: {name: db}\nstringData: {password: [1\n");
  await waitFor("the mistake", async () => /bracket/.test(await rowOf(agent, "secret.yaml")));
  await agent.command("restart", "web");
  assert.match((await agent.command("ps", "web")).stdout, /Running/);

  await rm(file);
  await waitFor("the Secret is gone", async () => {
    await agent.command("restart", "web");
    return /Secret default\/db does not exist/.test(await rowOf(agent, "web"));
  });
});

test("a Secret in a file of another user is refused", { skip: notRoot }, async () => {
  using temp = tempFolder();
  const file = join(temp.path, "secret.yaml");
  await writeFile(file, secret("hunter2"), { mode: 0o600 });
  await chown(file, 65_534, 65_534);
  await using agent = await startTestAgent({ manifests: temp.path });
  await waitFor(
    "the refusal",
    async () => /belongs to user 65534, who can read the Secret/.test(await rowOf(agent, "Secret/db")),
  );
});

test("envFile is read at every start; env overrides it, and a missing one is an error unless it begins with -", async () => {
  await using agent = await startTestAgent();
  const script = await agent.script("show.sh", show);
  const [file, manifest] = [join(agent.folder, "web.env"), join(agent.folder, "web.json")];
  const apply = async (spec: object) => {
    await writeFile(manifest, app("web", script, spec));
    return await agent.command("apply", "-f", manifest, "--wait");
  };
  await writeFile(file, "PASSWORD='from file'\nMODE=file\nulimit -n 10\n");
  assert.equal((await apply({ envFile: file, env: [{ name: "MODE", value: "spec" }] })).code, 0);
  await sees(agent, "web", "password=from file region= mode=spec");
  await writeFile(file, "PASSWORD=new\n");
  await agent.command("restart", "web");
  await sees(agent, "web", "password=new region= mode=spec");

  await writeFile(file, "A=1\nPASSWORD='hunter2\n");
  assert.match(
    (await apply({ envFile: file })).stderr,
    /spec.envFile: ".*web.env": line 2: a quote is not closed/,
  );
  assert.doesNotMatch((await agent.command("describe", "web")).stdout, /hunter2/);
  await rm(file);
  await agent.command("delete", "web");
  assert.match(
    (await apply({ envFile: file })).stderr,
    /spec.envFile: ".*web.env": no such file on this node/,
  );
  await agent.command("delete", "web");
  assert.equal((await apply({ envFile: `-${file}` })).code, 0);
});

test("envFile is read with the rights of the app's user", { skip: notRoot }, async () => {
  await using agent = await startTestAgent();
  await chmod(agent.folder, 0o755);
  const script = await agent.script("show.sh", show);
  const [file, manifest] = [join(agent.folder, "root.env"), join(agent.folder, "web.json")];
  await writeFile(file, "PASSWORD=of-root\n", { mode: 0o600 });
  for (const envFile of [file, `-${file}`]) {
    await writeFile(manifest, app("web", script, { envFile, runAsUser: "nobody" }));
    const { code, stderr } = await agent.command("apply", "-f", manifest, "--wait", "--timeout", "5s");
    assert.equal(code, 1);
    assert.match(stderr, /spec.envFile: ".*root.env": the user of the app may not read it/);
  }
});
