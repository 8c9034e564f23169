/**
 * Asks an app over HTTP. Status 200 to 399 is success: a redirect is an answer, and is not followed. Certificates are not
 * verified, as with the kubelet: a probe asks whether the app answers, not who it is. Each probe has a connection of its own.
 */
import { type ClientRequest, request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";
import { authority, bareHost } from "./host.ts";
import { isOwnTrouble } from "./own-trouble.ts";
import type { ProbeResult } from "./result.ts";

export interface HttpTarget {
  host: string;
  port: number;
  path: string;
  scheme: "HTTP" | "HTTPS";
  headers: { name: string; value: string }[];
}

/** One GET, over by `timeoutMs` at the latest. Throws only where the node is too short of something to ask. */
export function probeHttp(target: HttpTarget, timeoutMs: number): Promise<ProbeResult> {
  const { host, port, path, scheme, headers } = target;
  const url = `${scheme.toLowerCase()}://${authority(host, port)}${path}`;
  return new Promise((resolve, reject) => {
    let asked: ClientRequest | undefined;
    const finish = (ok: boolean, message: string) => {
      clearTimeout(timer);
      resolve({ ok, message });
      asked?.destroy();
    };
    const fail = (cause: Error) => {
      const message = `Get "${url}": ${cause.message}`;
      if (isOwnTrouble(cause)) reject(new Error(message, { cause }));
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
      asked = send({
        host: bareHost(host),
        port,
        path,
        headers: [...standard, ...given],
        agent: false,
        rejectUnauthorized: false,
      });
      asked.on("response", ({ statusCode = 0 }) => {
        const ok = statusCode >= 200 && statusCode < 400;
        finish(ok, ok ? `status ${statusCode}` : `HTTP probe failed with statuscode: ${statusCode}`);
      });
      // An upgrade that nobody asked for is neither an answer nor an error.
      asked.on("close", () => finish(false, `Get "${url}": closed without an answer`));
      asked.on("error", fail);
      asked.end();
    } catch (error) {
      fail(error as Error);
    }
  });
}
