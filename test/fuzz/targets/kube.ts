/** Text from an API server, a kubeconfig and its plugins. */
import { Buffer } from "node:buffer";
import { decodeAnswer } from "../../../src/kube/client/answer.ts";
import type { KubeClient } from "../../../src/kube/client/client.ts";
import { chooseMethod } from "../../../src/kube/access/auth-method.ts";
import { parseCredential } from "../../../src/kube/access/exec-credential.ts";
import { impersonationHeaders } from "../../../src/kube/access/impersonation.ts";
import { KubeError } from "../../../src/kube/kube-error.ts";
import { chooseContext } from "../../../src/kube/access/kubeconfig-files.ts";
import { objectKey } from "../../../src/kube/objects.ts";
import { proxyFromEnvironment } from "../../../src/kube/access/proxy.ts";
import { ncapps } from "../../../src/kube/resources.ts";
import { followList, listAll } from "../../../src/kube/watch/watch.ts";
import type { KubeObject } from "../../../src/kube/wire.ts";
import { bookmark, endOfList, errorLine, line, listOf, ncapp } from "../../kube/fake-server.ts";
import { holds, oneLine, type Target } from "../engine.ts";
import { textOf } from "./decode.ts";

const asked = { method: "GET", url: "https://api/x" };

/** A client that answers each request with the next page, and each watch with the bytes. */
function clientOf(pages: (() => Promise<unknown>)[], bytes?: Uint8Array[]): KubeClient {
  let page = 0;
  const over = () => new KubeError("no more", { ...asked, reason: "Unreachable" });
  return {
    access: { server: new URL("https://api") } as KubeClient["access"],
    request: async <T>() => {
      const next = pages[page++];
      if (!next) throw over();
      return await next() as T;
    },
    stream: async () => {
      const chunks = bytes;
      bytes = undefined;
      if (!chunks) throw over();
      return (async function* () {
        yield* chunks;
      })();
    },
    close() {},
  };
}

function checkObject(object: KubeObject): void {
  const { name, namespace, uid, resourceVersion } = object.metadata ?? {};
  for (const part of [name, namespace, uid, resourceVersion]) {
    holds(
      typeof part === "string" && part !== "",
      `an object was taken with ${JSON.stringify(object.metadata)?.slice(0, 200)}`,
    );
  }
  holds(objectKey(object) === `${namespace}/${name}`, "an object has another key than its name");
}

const watch: Target = {
  name: "watch-stream",
  covers: [
    ..."followList openWatch streamList objectProblem tidy".split(" "),
    "asStatus",
  ],
  samples: [
    line("ADDED", ncapp("a")) + line("MODIFIED", ncapp("a", "node-a", { resourceVersion: "2" })) +
    bookmark("12") +
    line("DELETED", ncapp("a", "node-a", { resourceVersion: "3" })),
    errorLine(410, "Expired", "too old resource version"),
    line("ADDED", ncapp("b")) + errorLine(500, "InternalError", "etcd"),
    line("ADDED", ncapp("a")) + endOfList("12") + line("DELETED", ncapp("a")),
  ],
  tokens: ["\n", '{"type":"ADDED","object":', "BOOKMARK", "ERROR", '"metadata":', "\r\n", '"kind":"Status"'],
  open: () => ({
    async run(input) {
      // The same bytes must give the same result however they are split.
      const cut = input.length === 0 ? 0 : (input[0]! * 7) % (input.length + 1);
      for (const streaming of [false, true]) {
        const whole = await story([input], streaming);
        const inPieces = await story([input.subarray(0, cut), input.subarray(cut)], streaming);
        holds(whole.join() === inPieces.join(), "how bytes are cut changes what is read");
      }
    },
  }),
};

async function story(chunks: Uint8Array[], streaming: boolean): Promise<string[]> {
  const ending = new AbortController();
  const told: string[] = [];
  const client = clientOf([async () => listOf([])], chunks);
  const events = followList(client, { resource: ncapps, streaming }, ending.signal);
  for await (const event of events) {
    if (event.type === "applied" || event.type === "deleted") checkObject(event.object);
    if (event.type === "listed") event.items.forEach(checkObject);
    told.push(event.type);
    if (event.type === "problem") {
      oneLine(event.error.message, "the message of a KubeError", 2100);
      break;
    }
    // The stream ended: the next request would open a second one.
    if (told.filter((type) => type === "alive").length > 50) break;
  }
  ending.abort();
  return told;
}

const list: Target = {
  name: "list-pages",
  covers: ["decodeAnswer", "listAll", "objectProblem"],
  samples: [
    JSON.stringify(listOf([ncapp("a"), ncapp("b")])),
    JSON.stringify(listOf([], "11", "token")),
    JSON.stringify({ kind: "Status", apiVersion: "v1", code: 403, reason: "Forbidden", message: "no" }),
    "<html><body>502</body></html>",
  ],
  tokens: ['"items":', "null", '"continue":"x"', '"resourceVersion":"10"', "NCAppList"],
  refusal: { name: "KubeError", says: /^GET https:\/\/api/, maxLength: 2100 },
  open: () => ({
    async run(input) {
      const answer = async () =>
        await decodeAnswer(asked, {
          status: 200,
          headers: { "content-type": "application/json" },
          body: bodyOf(input),
        }, 1e6);
      const { items, resourceVersion } = await listAll<KubeObject>(clientOf([answer, answer, answer]), {
        resource: ncapps,
      });
      items.forEach(checkObject);
      holds(
        typeof resourceVersion === "string" && resourceVersion !== "",
        "a list without a version was taken",
      );
    },
  }),
};

const answers: Target = {
  name: "answer",
  covers: ["decodeAnswer", "asStatus", "retryAfter"],
  samples: [
    '429\napplication/json\n5\n{"kind":"Status","code":429,"reason":"TooManyRequests","message":"slow","details":{"retryAfterSeconds":3}}',
    "503\ntext/html\nFri, 31 Dec 1999 23:59:59 GMT\n<html>no</html>",
    '200\napplication/json; charset=utf-8\n\n{"kind":"NCApp"}',
    '409\napplication/json\n\n{"kind":"Status","message":"conflict","reason":"Conflict"}',
  ],
  tokens: [
    ..."application/json 200 500 410 Retry".split(" "),
    '"kind":"Status"',
    '"message":',
    '"reason":',
    "\n",
  ],
  refusal: { name: "KubeError", says: /^GET https:\/\/api\/x: /, maxLength: 2100 },
  open: () => ({
    async run(input) {
      const [status = "", type = "", retry = "", ...body] = textOf(input).split("\n");
      const headers = { "content-type": type, ...(retry ? { "retry-after": retry } : {}) };
      const bytes = Buffer.from(body.join("\n"));
      try {
        const value = await decodeAnswer(asked, {
          status: Number.parseInt(status) || 0,
          headers,
          body: bodyOf(bytes),
        }, 1e6);
        holds(typeof value === "object" && value !== null, "an answer is no object");
      } catch (error) {
        if (error instanceof KubeError) {
          const { retryAfterMs = 0, reason } = error;
          holds(typeof reason === "string", "the reason is no text");
          holds(retryAfterMs >= 0 && retryAfterMs <= 3_600_000, `to wait for ${retryAfterMs} ms`);
        }
        throw error;
      }
    },
  }),
};

const pem = Buffer.from("-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----\n").toString("base64");
const kubeconfigYaml = `apiVersion: v1
kind: Config
current-context: test
clusters:
- name: c
  cluster: {server: "https://10.0.0.1:6443", certificate-authority-data: ${pem}, tls-server-name: api}
contexts:
- name: test
  context: {cluster: c, user: u, namespace: apps}
users:
- name: u
  user: {token: hunter2hunter2, client-certificate: pki/a.crt, client-key: pki/a.key}
`;
const execUser = {
  name: "u",
  user: {
    exec: {
      apiVersion: "client.authentication.k8s.io/v1",
      command: "./plugin",
      args: ["-x"],
      env: [{ name: "A", value: "b" }],
      provideClusterInfo: true,
    },
  },
};

const kubeconfig: Target = {
  name: "kubeconfig",
  covers: ["chooseContext", "chooseMethod", "impersonationHeaders", "readExecPlugin", "readOidcProvider"],
  samples: [
    kubeconfigYaml,
    JSON.stringify({
      "current-context": "test",
      clusters: [{ name: "c", cluster: { server: "https://x", "proxy-url": "http://p", extensions: [] } }],
      contexts: [{ name: "test", context: { cluster: "c", user: "u" } }],
      users: [execUser],
    }),
  ],
  tokens: [
    ..."&a *a !!binary hunter2hunter2 exec: 2001-01-01 ~".split(" "),
    "name: ",
    "user: ",
    "<<: *a",
    "as: root",
    "- ",
  ],
  refusal: { name: "Error", says: /^\/etc\/kubeconfig: /, maxLength: 700 },
  open: () => ({
    async run(input) {
      const text = textOf(input);
      try {
        const { cluster: { fields: { server } }, user } = await chooseContext(
          ["/etc/kubeconfig"],
          undefined,
          async () => text,
        );
        holds(typeof server === "string" && server !== "", "a cluster without a server");
        for (const value of Object.values(impersonationHeaders(user)).flat()) {
          holds(typeof value === "string", "a header is no text");
        }
        const method = chooseMethod(user);
        if (method.is !== "exec plugin") return;
        for (const word of [...method.plugin.args, ...Object.values(method.plugin.env)]) {
          holds(typeof word === "string", "an argument or a variable is no text");
        }
      } catch (error) {
        holds(
          !(error as Error).message.includes("hunter2hunter2") || mayShow(text),
          "an error shows the token",
        );
        throw error;
      }
    },
  }),
};

/** A mutation may have put the token in place of a name, which errors do show. */
function mayShow(text: string): boolean {
  return !text.includes("token: hunter2hunter2") || text.split("hunter2hunter2").length > 2;
}

const credential: Target = {
  name: "exec-credential",
  covers: ["parseCredential"],
  samples: [
    { token: "hunter2", expirationTimestamp: "2030-01-01T00:00:00Z" },
    { clientCertificateData: "CERT", clientKeyData: "KEY" },
  ].map((status) =>
    JSON.stringify({ apiVersion: "client.authentication.k8s.io/v1", kind: "ExecCredential", status })
  ),
  refusal: { name: "Error", says: /^exec plugin \/plugin printed / },
  open: () => ({
    run(input) {
      const plugin = {
        apiVersion: "client.authentication.k8s.io/v1",
        command: "/plugin",
        args: [],
        env: {},
        provideClusterInfo: false,
      };
      const { token, certificate, expiresAt } = parseCredential(textOf(input), plugin);
      for (const part of [token ?? "", certificate?.cert ?? "", certificate?.key ?? ""]) {
        holds(typeof part === "string", "a credential is no text");
      }
      holds(expiresAt === undefined || Number.isFinite(expiresAt), "a credential expires at no time");
    },
  }),
};

const proxies: Target = {
  name: "proxy",
  covers: ["proxyFromEnvironment", "parseProxy"],
  samples: [
    "https://api.example.com:6443\nhttp://user:hunter2@proxy:3128\n.example.org,10.0.0.0/8,*.x",
    "https://10.1.2.3\nproxy:8080\n10.0.0.0/8",
    "https://[fd00::1]:6443\nsocks5://p\nfd00::/8,[::1]:80",
  ],
  tokens: ["://", ",", "/", "*.", "[", "]", ":443", "10.0.0.0/8", "::", "@", "%"],
  refusal: { name: "Error", says: /HTTPS?_PROXY/ },
  maxBytes: 8192,
  open: () => ({
    run(input) {
      const [target = "", proxy = "", none = ""] = textOf(input).split("\n");
      if (!URL.canParse(target)) return;
      const found = proxyFromEnvironment(new URL(target), {
        HTTPS_PROXY: proxy,
        HTTP_PROXY: proxy,
        NO_PROXY: none,
      });
      holds(found === undefined || found.hostname !== "", "a proxy without a host");
    },
  }),
};

export const kubeTargets: readonly Target[] = [watch, list, answers, kubeconfig, credential, proxies];

async function* bodyOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
