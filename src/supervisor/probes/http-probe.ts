/**
 * Sends a GET request. A status of 200 to 399 is success: redirects are not followed. Like the kubelet, it does not verify
 * certificates: a probe checks that the app answers, not who it is. Each probe opens its own connection.
 */
import { request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { probeConnection, type ProbeResult } from "./probe-result.ts";
import { authority, bareHost, type ProbeTarget } from "./probe-target.ts";

export interface HttpTarget extends ProbeTarget {
  path: string;
  scheme: "HTTP" | "HTTPS";
  headers: { name: string; value: string }[];
}

/** Sends one request and waits `timeoutMs` at most. Throws only if the node could not send it. */
export function probeHttp(target: HttpTarget, timeoutMs: number): Promise<ProbeResult> {
  const { host, port, path, scheme, headers } = target;
  const what = `Get "${scheme.toLowerCase()}://${authority(host, port)}${path}"`;
  const given = headers.flatMap(({ name, value }) => [name, value]);
  const has = (name: string) => headers.some((header) => header.name.toLowerCase() === name);
  const standard = [
    ...(has("host") ? [] : ["Host", authority(host, port)]),
    ...(has("user-agent") ? [] : ["User-Agent", "nckubelet-probe"]),
    ...(has("accept") ? [] : ["Accept", "*/*"]),
    ...["Connection", "close"],
  ];
  return probeConnection(what, timeoutMs, (finish) => {
    const request = (scheme === "HTTPS" ? httpsRequest : httpRequest)({
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
    request.on("close", () => finish(false, `${what}: closed without an answer`));
    return request.end();
  });
}
