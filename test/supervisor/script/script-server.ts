/** Servers on loopback for the tests of downloads. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type RequestListener, type Server } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { promisify } from "node:util";
import { tempFolder } from "../../temp-folder.ts";

export interface ScriptServer {
  /** Without a trailing slash. */
  origin: string;
  /** The requests, in order. */
  requests: IncomingMessage[];
  [Symbol.asyncDispose](): Promise<void>;
}

/** Serves over plain HTTP. */
export async function serve(listener: RequestListener): Promise<ScriptServer> {
  return await listen(createServer(), "http", listener);
}

/** Serves over TLS with a certificate that is not trusted by default. */
export async function serveSecure(listener: RequestListener): Promise<ScriptServer & { ca: string }> {
  const { key, certificate } = await makeCertificate();
  const server = await listen(createSecureServer({ key, cert: certificate }), "https", listener);
  return Object.assign(server, { ca: certificate });
}

async function listen(server: Server, scheme: string, listener: RequestListener): Promise<ScriptServer> {
  const requests: IncomingMessage[] = [];
  server.on("request", (request, response) => {
    requests.push(request);
    listener(request, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    origin: `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async [Symbol.asyncDispose]() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}

async function makeCertificate(): Promise<{ key: string; certificate: string }> {
  using temp = tempFolder();
  const folder = temp.path;
  const [key, certificate] = [join(folder, "key.pem"), join(folder, "certificate.pem")];
  const request =
    "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=127.0.0.1";
  const names = ["-addext", "subjectAltName=IP:127.0.0.1,DNS:scripts.test"];
  await promisify(execFile)("openssl", [
    ...request.split(" "),
    ...names,
    "-keyout",
    key,
    "-out",
    certificate,
  ]);
  return { key: await readFile(key, "utf8"), certificate: await readFile(certificate, "utf8") };
}
