/**
 * Sends a GET request. A status of 200 to 399 is success: redirects are not followed. Like the kubelet, it does not verify
 * certificates: a probe checks that the app answers, not who it is. Each probe opens its own connection.
 */
import { type ClientRequest, request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { isNodeShortage, type ProbeResult } from "./probe-result.ts";
import { authority, bareHost, type ProbeTarget } from "./probe-target.ts";

export interface HttpTarget extends ProbeTarget {
  path: string;
  scheme: "HTTP" | "HTTPS";
  headers: { name: string; value: string }[];
}

/** Sends one request and waits `timeoutMs` at most. Throws only if the node could not send it. */
export function probeHttp(target: HttpTarget, timeoutMs: number): Promise<ProbeResult> {
  const { host, port, path, scheme, headers } = target;
  const url = `${scheme.toLowerCase()}://${authority(host, port)}${path}`;
  return new Promise((resolve, reject) => {
    let request: ClientRequest | undefined;
    const finish = (ok: boolean, message: string) => {
      clearTimeout(timer);
      resolve({ ok, message });
      request?.destroy();
    };
    const fail = (cause: Error) => {
      const message = `Get "${url}": ${cause.message}`;
      if (isNodeShortage(cause)) reject(new Error(message, { cause }));
      // Settles nothing after a rejection, but releases timer and connection.
      finish(false, message);
    };
    const timer = setTimeout(
      () => finish(false, `Get "${url}": no answer in ${timeoutMs / 1000} s`),
      timeoutMs,
    );
    const given = headers.flatMap(({ name, value }) => [name, value]);
    const has = (name: string) => headers.some((header) => header.name.toLowerCase() === name);
    const standard = [
      ...(has("host") ? [] : ["Host", authority(host, port)]),
      ...(has("user-agent") ? [] : ["User-Agent", "nckubelet-probe"]),
      ...(has("accept") ? [] : ["Accept", "*/*"]),
      ...["Connection", "close"],
    ];
    try {
      const send = scheme === "HTTPS" ? httpsRequest : httpRequest;
      request = send({
        host: bareHost(host),
        port,
        path,
        headers: [...standard, ...given],
        agent: false,
        rejectUnauthorized: false,
      });
      request.on("response", ({ statusCode = 0 }) => {
        const ok = statusCode >= 200 && statusCode < 400;
        finish(ok, ok ? `status ${statusCode}` : `HTTP probe failed with statuscode: ${statusCode}`);
      });
      // An unrequested upgrade causes neither "response" nor "error".
      request.on("close", () => finish(false, `Get "${url}": closed without an answer`));
      request.on("error", fail);
      request.end();
    } catch (error) {
      fail(error as Error);
    }
  });
}
