/** Who may enter an app through the API server: everyone with pods/exec, unless it runs as root. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import type { NCAppSpec } from "../../../src/api/types.ts";
import { defaultClientLimits } from "../../../src/server/kubelet/kubelet.ts";
import type { AppView } from "../../../src/server/view.ts";
import { saveRunContext } from "../../../src/supervisor/run/run.ts";
import { appWith } from "../../supervisor/fixtures.ts";
import { tempFolder } from "../../temp-folder.ts";
import { waitFor } from "../../wait-for.ts";
import { viewWith, web } from "../fake-agent.ts";
import { SpdyClient } from "../spdy/client.ts";
import { apiServer, authorizeByRights, kubeletWith } from "./fake-kubelet.ts";
import { askForStreams, startKubelet } from "./stream-client.ts";

const container = "default/web/app";
const forwarding = { protocol: "portforward.k8s.io" };

/** A kubelet API with one app whose run has this user; the spec can be changed. */
async function nodeWith(user: string, spec: NCAppSpec = {}) {
  const temp = tempFolder();
  const context = { leaf: "", user, workingDir: "/", gid: 0, environment: join(temp.path, "environment") };
  saveRunContext(temp.path, context);
  const run = { id: "run", folder: temp.path };
  const node: { spec: NCAppSpec; run: AppView["run"]; isCutOff?: boolean } = { spec, run };
  const kubelet = await startKubelet({
    view: viewWith({ app: () => ({ ...web, app: appWith(node.spec), run: node.run }) }),
    authorize: async (user, access) =>
      access.app && node.isCutOff ? "unavailable" : await authorizeByRights(user, access),
  });
  const ask = async (path: string, options: object = {}) => {
    const answer = await askForStreams(kubelet.port, path, options);
    if (answer instanceof SpdyClient) return { client: answer, status: 101, message: "" };
    return { status: answer.status, message: JSON.parse(answer.body).message as string };
  };
  const runCommand = async () => {
    const options = { method: "POST", headers: { authorization: "Bearer writer" } };
    const answer = await fetch(`http://127.0.0.1:${kubelet.port}/run/${container}?cmd=id`, options);
    return { status: answer.status, message: (await answer.json()).message as string };
  };
  return {
    node,
    ask,
    /** What each way into the app answers. */
    ways: async () => ({
      exec: await ask(`/exec/${container}?command=id&output=1`),
      attach: await ask(`/attach/${container}?output=1`),
      portForward: await ask("/portForward/default/web", forwarding),
      run: await runCommand(),
    }),
    async [Symbol.asyncDispose]() {
      await kubelet[Symbol.asyncDispose]();
      temp.remove();
    },
  };
}

test("an app that runs as root is entered by nobody, before the connection becomes a stream", async () => {
  await using root = await nodeWith("0 0 0", { runAsUser: "web", ports: [{ port: 80 }] });
  const refused = {
    status: 403,
    message: "ncapp default/web runs as root: who enters it is root on node node-a; " +
      "set spec.allowExec to true to allow it, or spec.runAsUser to another user",
  };
  const every = { exec: refused, attach: refused, portForward: refused, run: refused };
  assert.deepEqual(await root.ways(), every, "the spec does not count, but what the run got");
});

test("an app in the group root is entered by nobody, whether that is its first group or another one", async () => {
  for (const user of ["1000 0 0", "1000 1000 27 0", "1000 0"]) {
    await using grouped = await nodeWith(user, { ports: [{ port: 80 }] });
    for (const { status, message } of Object.values(await grouped.ways())) {
      assert.equal(status, 403, user);
      assert.match(
        message,
        /runs in the group root \(0\).*spec\.runAsUser and spec\.runAsGroup to another group/,
      );
    }
  }
});

test("a run whose user is unknown counts as root", async () => {
  await using lost = await nodeWith("");
  lost.node.run = { id: "run", folder: "/no/such/run" };
  const { status, message } = await lost.ask(`/exec/${container}?command=id&output=1`);
  assert.equal(status, 403);
  assert.match(message, /may run as root: node node-a does not know its user; set spec\.allowExec/);
});

test("allowExec opens an app that runs as root, and takes effect at once", async () => {
  await using root = await nodeWith("0 0 0");
  const path = "/portForward/default/web";
  assert.equal((await root.ask(path, forwarding)).status, 403);
  root.node.spec = { allowExec: true };
  const { client, status } = await root.ask(path, forwarding);
  assert.equal(status, 101);
  client?.socket.destroy();
  root.node.spec = { allowExec: false };
  assert.equal((await root.ask(path, forwarding)).status, 403);
});

test("an app of another user is entered by who may use pods/exec", async () => {
  await using other = await nodeWith("1000 1000 1000");
  const { exec, attach, portForward } = await other.ways();
  assert.deepEqual([exec, attach, portForward].map(({ status }) => status), [101, 101, 101]);
  for (const { client } of [exec, attach, portForward]) client?.socket.destroy();
});

test("an app that does not run is not entered", async () => {
  await using other = await nodeWith("1000 1000 1000");
  other.node.run = undefined;
  assert.equal((await other.ask("/portForward/default/web", forwarding)).status, 409);
});

/** A port that answers when its client has finished. */
async function answeringHello() {
  const answer = (socket: Socket) => socket.resume().once("end", () => socket.end("hello"));
  const server = createServer({ allowHalfOpen: true }, answer).listen(0, "127.0.0.1");
  await once(server, "listening");
  return { server, port: (server.address() as AddressInfo).port };
}

test("port-forward reaches only the TCP ports of the spec, unless it allows exec", async () => {
  const { server, port } = await answeringHello();
  await using other = await nodeWith("1000 1000 1000", { ports: [{ port, protocol: "UDP" }] });
  const { client } = await other.ask("/portForward/default/web", forwarding);
  assert.ok(client);
  let last = 0;
  const forward = async () => {
    const headers = { port: String(port), requestID: String(++last) };
    const error = client.open({ ...headers, streamType: "error" });
    const data = client.open({ ...headers, streamType: "data" });
    data.end();
    await waitFor("both ended", () => error.ended && data.ended);
    return { data: data.text(), error: error.text() };
  };
  const refused = {
    data: "",
    error: `port ${port} is not a TCP port in spec.ports of ncapp default/web; ` +
      "add it, or set spec.allowExec to true to reach every port of the node",
  };
  assert.deepEqual(await forward(), refused);
  other.node.spec = { ports: [{ port }] };
  assert.deepEqual(await forward(), { data: "hello", error: "" });
  other.node.spec = { allowExec: true };
  assert.deepEqual(await forward(), { data: "hello", error: "" });
  other.node.spec = {};
  assert.deepEqual(await forward(), refused);
  client.socket.destroy();
  server.close();
});

test("a sender with a token of its own enters an app that runs as root with create of ncapps/exec, and reaches every port", async () => {
  const { server, port } = await answeringHello();
  await using root = await nodeWith("0 0 0");
  const { client, status, message } = await root.ask("/portForward/default/web", {
    ...forwarding,
    token: "operator",
  });
  assert.equal(status, 101, message);
  const headers = { port: String(port), requestID: "1" };
  const error = client!.open({ ...headers, streamType: "error" });
  const data = client!.open({ ...headers, streamType: "data" });
  data.end();
  await waitFor("both ended", () => error.ended && data.ended);
  assert.deepEqual([data.text(), error.text()], ["hello", ""]);
  client!.socket.destroy();
  root.node.isCutOff = true;
  assert.equal(
    (await root.ask("/portForward/default/web", { ...forwarding, token: "operator" })).status,
    503,
  );
  server.close();
});

test("the right of a sender with a certificate does not count: it may be the API server, on behalf of anyone", async () => {
  const asked: object[] = [];
  const holders: string[] = [];
  const temp = tempFolder();
  const context = { leaf: "", user: "0 0 0", workingDir: "/", gid: 0, environment: join(temp.path, "none") };
  saveRunContext(temp.path, context);
  const run = { id: "run", folder: temp.path };
  const spec: NCAppSpec = {};
  const kubelet = kubeletWith({
    view: viewWith({ app: () => ({ ...web, app: appWith(spec), run }) }),
    authorize: async (_, access) => (asked.push(access), "allowed"),
    limits: {
      ...defaultClientLimits(),
      memory: (holder) => void holders.push(holder),
    },
  });
  const answer = await kubelet.asApiServer(`/run/${container}?cmd=id`, "POST");
  assert.equal(answer.status, 403);
  assert.deepEqual(asked, [{ verb: "create", subresource: "proxy" }], apiServer.username);
  spec.allowExec = true;
  assert.equal((await kubelet.asApiServer(`/run/${container}?cmd=id`, "POST")).status, 429);
  const options = { method: "POST", token: "operator" };
  assert.equal((await kubelet.ask(`/run/${container}?cmd=id`, options)).status, 429);
  assert.deepEqual(holders, ["namespace default", "user operator"], "who shares memory with whom");
  temp.remove();
});
