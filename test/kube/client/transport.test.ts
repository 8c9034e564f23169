import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import type { TLSSocket } from "node:tls";
import { type AccessOptions, loadAccess } from "../../../src/kube/access/access.ts";
import { createKubeClient } from "../../../src/kube/client/client.ts";
import { tempFolder } from "../../temp-folder.ts";
import { waitFor } from "../../wait-for.ts";
import { alice, bob, ca } from "../access/certificates.ts";
import { kubeconfig } from "../access/kubeconfigs.ts";
import { type Answer, json, withServer } from "../fake-server.ts";

const path = "/version";

/** Answers with the name in the client's certificate. */
const whoAsks: Answer = (_, response) => {
  const subject = (response.socket as TLSSocket).getPeerCertificate()?.subject;
  json(response, { name: subject?.CN ?? "nobody" });
};

async function withFolder(use: (folder: string) => Promise<void>) {
  using temp = tempFolder();
  const folder = temp.path;
  await writeFile(join(folder, "ca.crt"), ca);
  await use(folder);
}

/** Writes a kubeconfig that trusts ca.crt in the same folder. */
async function trusting(folder: string, server: string): Promise<string> {
  const path = join(folder, "trusting");
  await writeFile(path, kubeconfig("", `server: "${server}", certificate-authority: ca.crt`));
  return path;
}

async function ask(options: AccessOptions): Promise<{ name: string }> {
  const client = createKubeClient(await loadAccess(options));
  try {
    return await client.request({ path });
  } finally {
    client.close();
  }
}

test("a server is trusted through the given authority only", async () => {
  await withFolder((folder) =>
    withServer(whoAsks, async ({ url }) => {
      await ask({ kubeconfig: await trusting(folder, url) });
      await assert.rejects(ask({ server: url }), /certificate/i);
      await ask({ server: url, insecureSkipTlsVerify: true });
    }, { tls: true })
  );
});

test("the server's certificate must have the name in tls-server-name", async () => {
  await withFolder((folder) =>
    withServer(whoAsks, async ({ url }) => {
      const config = (name: string) =>
        kubeconfig("", `server: "${url}", certificate-authority: ca.crt, tls-server-name: ${name}`);
      await writeFile(join(folder, "good"), config("kube.test"));
      await writeFile(join(folder, "bad"), config("other.test"));
      await ask({ kubeconfig: join(folder, "good") });
      await assert.rejects(ask({ kubeconfig: join(folder, "bad") }), /other\.test|certificate/i);
    }, { tls: true })
  );
});

test("a client uses a changed client certificate without a restart", async () => {
  await withFolder((folder) =>
    withServer(whoAsks, async ({ url }) => {
      const cluster = `server: "${url}", certificate-authority: ca.crt`;
      const user = "client-certificate: client.crt, client-key: client.key";
      await writeFile(join(folder, "config"), kubeconfig(user, cluster));
      const give = async ({ cert, key }: typeof alice) => {
        await writeFile(join(folder, "client.crt"), cert);
        await writeFile(join(folder, "client.key"), key);
      };
      await give(alice);
      const client = createKubeClient(await loadAccess({ kubeconfig: join(folder, "config"), checkMs: 0 }));
      const name = async () => (await client.request<{ name: string }>({ path })).name;
      assert.equal(await name(), "alice");
      await give(bob);
      await waitFor("the other certificate is used", async () => await name() === "bob");
      client.close();
    }, { tls: true, wantClientCertificate: true })
  );
});

test("a proxy opens a tunnel, and the certificate is the server's own", async () => {
  await withFolder((folder) =>
    withServer(whoAsks, async ({ url }) => {
      const seen: string[] = [];
      await withTunnel(seen, new URL(url).port, async (proxy) => {
        const env = { HTTPS_PROXY: `http://me:pass@${new URL(proxy).host}` };
        // By name, since loopback is never reached through a proxy; the tunnel leads to the fake server.
        await ask({ kubeconfig: await trusting(folder, "https://kube.test:6443"), env });
      });
      assert.deepEqual(seen, [`kube.test:6443 Basic ${btoa("me:pass")}`]);
    }, { tls: true })
  );
});

test("a client uses a proxy-url that is added to its kubeconfig", async () => {
  await withFolder((folder) =>
    withServer(whoAsks, async ({ url }) => {
      const config = join(folder, "config");
      const cluster = `server: "${url}", certificate-authority: ca.crt`;
      await writeFile(config, kubeconfig("", cluster));
      const seen: string[] = [];
      await withTunnel(seen, new URL(url).port, async (proxy) => {
        const client = createKubeClient(await loadAccess({ kubeconfig: config, checkMs: 0 }));
        await client.request({ path });
        assert.deepEqual(seen, []);
        await writeFile(config, kubeconfig("", `${cluster}, proxy-url: "${proxy}"`));
        await waitFor("the proxy is used", async () => {
          await client.request({ path });
          return seen.length > 0;
        });
        client.close();
      });
    }, { tls: true })
  );
});

test("a SOCKS5 proxy gets the server's name", async () => {
  await withFolder((folder) =>
    withServer(whoAsks, async ({ url }) => {
      const seen: string[] = [];
      await withSocks(seen, new URL(url).port, async (proxy) => {
        const server = "https://kube.test:6443";
        await ask({ kubeconfig: await trusting(folder, server), env: { HTTPS_PROXY: proxy } });
      });
      assert.deepEqual(seen, ["kube.test"]);
    }, { tls: true })
  );
});

/** A SOCKS5 proxy without passwords that forwards every connection to `port` and records the requested names. */
async function withSocks(seen: string[], port: string, use: (url: string) => Promise<void>) {
  const sockets = new Set<Socket>();
  const proxy = createTcpServer((socket) => {
    sockets.add(socket.on("error", () => {}));
    socket.once("data", () => {
      socket.write(Uint8Array.of(5, 0));
      socket.once("data", (wish: Uint8Array) => {
        seen.push(new TextDecoder().decode(wish.subarray(5, 5 + wish[4]!)));
        const target = connect(Number(port), "127.0.0.1", () => {
          socket.write(Uint8Array.of(5, 0, 0, 1, 127, 0, 0, 1, 0, 0));
          target.pipe(socket).pipe(target);
        });
        sockets.add(target.on("error", () => {}));
      });
    });
  });
  await listening(proxy);
  try {
    await use(`socks5://127.0.0.1:${(proxy.address() as AddressInfo).port}`);
  } finally {
    sockets.forEach((socket) => socket.destroy());
    await new Promise((resolve) => proxy.close(resolve));
  }
}

/** An HTTP proxy that forwards every tunnel to `port` and records the requests. */
async function withTunnel(seen: string[], port: string, use: (url: string) => Promise<void>) {
  const sockets = new Set<Socket>();
  const proxy = createServer();
  proxy.on("connect", (request: IncomingMessage, socket: Socket) => {
    seen.push(`${request.url} ${request.headers["proxy-authorization"]}`);
    const target = connect(Number(port), "127.0.0.1", () => {
      socket.write("HTTP/1.1 200 OK\r\n\r\n");
      target.pipe(socket).pipe(target);
    });
    for (const end of [socket, target]) sockets.add(end.on("error", () => {}));
  });
  await listening(proxy);
  try {
    await use(`http://127.0.0.1:${(proxy.address() as AddressInfo).port}`);
  } finally {
    sockets.forEach((socket) => socket.destroy());
    await new Promise((resolve) => proxy.close(resolve));
  }
}

test("a server that accepts and stays silent times out after the time for connecting", async () => {
  const silent = createTcpServer((socket) => void sockets.push(socket.on("error", () => {})));
  const sockets: Socket[] = [];
  await listening(silent);
  try {
    const server = `https://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const client = createKubeClient(await loadAccess({ server, insecureSkipTlsVerify: true }), {
      connectTimeoutMs: 100,
    });
    await assert.rejects(
      client.request({ path, timeoutMs: 60_000 }),
      /GET https:\/\/127\S+: .*does not answer/,
    );
  } finally {
    sockets.forEach((socket) => socket.destroy());
    await new Promise((resolve) => silent.close(resolve));
  }
});

function listening(server: { listen(port: number, host: string, done: () => void): unknown }): Promise<void> {
  return new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
}
