/**
 * A TLS listener in front of the API server that can answer 429 to every request for a while, as an overloaded server does.
 * Otherwise it forwards requests and streams unchanged; if the API server cuts a connection, it does too.
 */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { Agent, createServer, request as httpsRequest } from "node:https";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createAuthority, createServerCertificate } from "../../harness/certificates.ts";

export interface Gateway extends AsyncDisposable {
  port: number;
  /** The CA that clients must trust. */
  caFile: string;
  /** Sets whether every request is answered 429. */
  setBusy(busy: boolean): void;
  /** The number of requests answered 429. */
  refused(): number;
}

/** Opens the gateway to the API server at `server`. */
export async function openGateway(
  folder: string,
  { server, caFile }: { server: string; caFile: string },
): Promise<Gateway> {
  const authority = await createAuthority(folder, "gateway-ca");
  const certificate = await createServerCertificate(folder, "gateway", authority, ["IP:127.0.0.1"]);
  const agent = new Agent({ keepAlive: true, ca: readFileSync(caFile) });
  let busy = false;
  let refused = 0;

  const pass = (incoming: IncomingMessage, response: ServerResponse) => {
    const { method, url = "/", headers } = incoming;
    const outgoing = httpsRequest(server + url, { method, headers, agent });
    outgoing.on("response", (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      response.flushHeaders();
      answer.pipe(response);
      answer.on("close", () => answer.complete || response.destroy());
    });
    outgoing.on("error", () => incoming.socket.destroy());
    response.on("close", () => outgoing.destroy());
    incoming.pipe(outgoing);
  };
  const gateway = createServer(
    { cert: readFileSync(certificate.certFile), key: readFileSync(certificate.keyFile) },
    (incoming, response) => {
      if (!busy) return pass(incoming, response);
      refused++;
      incoming.resume();
      const status = { kind: "Status", apiVersion: "v1", status: "Failure", code: 429, message: "too many" };
      response.writeHead(429, { "content-type": "application/json", "retry-after": "1" });
      response.end(JSON.stringify(status));
    },
  );
  gateway.on("tlsClientError", () => {});
  gateway.listen(0, "127.0.0.1");
  await once(gateway, "listening");

  return {
    port: (gateway.address() as AddressInfo).port,
    caFile: authority.certFile,
    setBusy: (next) => void (busy = next),
    refused: () => refused,
    async [Symbol.asyncDispose]() {
      gateway.closeAllConnections();
      gateway.close();
      agent.destroy();
      await once(gateway, "close");
    },
  };
}
