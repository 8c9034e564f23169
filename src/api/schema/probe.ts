import type { Schema } from "./schema-type.ts";
import { headerName, headerValue, host, portName, requestPath, withoutNUL } from "./patterns.ts";

const probedPort = {
  description: "Port number, or the name of one of `ports`.",
  "x-kubernetes-int-or-string": true,
  minimum: 1,
  maximum: 65_535,
  pattern: portName,
  maxLength: 15,
} as const satisfies Schema;

/** Runs a command in the app's cgroup, as the app's user. */
const execAction = {
  type: "object",
  description:
    "Command to run in the app's cgroup and working directory, as the app's user. Exit code 0 means success.",
  required: ["command"],
  properties: {
    command: {
      type: "array",
      description: "Program and arguments. It does not run in a shell.",
      "x-kubernetes-list-type": "atomic",
      minItems: 1,
      maxItems: 256,
      items: { type: "string", pattern: withoutNUL, maxLength: 131_072 },
    },
  },
} as const satisfies Schema;

const httpGetAction = {
  type: "object",
  description:
    "HTTP GET request. A status code from 200 to 399 means success. Certificates are not verified.",
  required: ["port"],
  properties: {
    path: {
      type: "string",
      description: "Path and query of the request.",
      default: "/",
      pattern: requestPath,
      maxLength: 8_192,
    },
    port: probedPort,
    host: {
      type: "string",
      description: "Host to connect to. Empty: the node itself.",
      pattern: host,
      maxLength: 253,
    },
    scheme: { type: "string", description: "HTTP or HTTPS.", enum: ["HTTP", "HTTPS"], default: "HTTP" },
    httpHeaders: {
      type: "array",
      description: "Headers to send. A name may repeat.",
      "x-kubernetes-list-type": "atomic",
      maxItems: 64,
      items: {
        type: "object",
        required: ["name", "value"],
        properties: {
          name: { type: "string", pattern: headerName, maxLength: 256 },
          value: { type: "string", pattern: headerValue, maxLength: 8_192 },
        },
      },
    },
  },
} as const satisfies Schema;

const tcpSocketAction = {
  type: "object",
  description: "TCP connection. Opening it means success.",
  required: ["port"],
  properties: {
    port: probedPort,
    host: {
      type: "string",
      description: "Host to connect to. Empty: the node itself.",
      pattern: host,
      maxLength: 253,
    },
  },
} as const satisfies Schema;

/** The probe mechanisms by field; `api/probe-mechanisms.ts` has the other facts about them. */
export const probeActions = {
  exec: execAction,
  httpGet: httpGetAction,
  tcpSocket: tcpSocketAction,
} as const;

const seconds = (description: string, minimum: number, value: number) =>
  ({ type: "integer", format: "int32", description, minimum, maximum: 86_400, default: value }) as const;

/** A probe with the given description, one mechanism, and the timing fields of a Pod's probe. */
export const probe = (description: string, maxSuccessThreshold: number) =>
  ({
    type: "object",
    description: `${description} Set exactly one of ${Object.keys(probeActions).join(", ")}.`,
    properties: {
      ...probeActions,
      initialDelaySeconds: seconds("Seconds between the start of the app and the first probe.", 0, 0),
      periodSeconds: seconds("Seconds between probes.", 1, 10),
      timeoutSeconds: seconds("Seconds after which a probe times out and fails.", 1, 1),
      successThreshold: {
        type: "integer",
        format: "int32",
        description:
          "Consecutive successes, after a failure, that count as success. Must be 1 for liveness and startup probes.",
        minimum: 1,
        maximum: maxSuccessThreshold,
        default: 1,
      },
      failureThreshold: {
        type: "integer",
        format: "int32",
        description: "Consecutive failures that count as failure.",
        minimum: 1,
        maximum: 1_000_000,
        default: 3,
      },
    },
  }) as const satisfies Schema;
