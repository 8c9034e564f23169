import type { Schema } from "./schema-type.ts";
import { headerName, headerValue, portName, withoutNUL } from "./patterns.ts";

const probedPort = {
  description: "Port number, or the name of one of `ports`.",
  "x-kubernetes-int-or-string": true,
  minimum: 1,
  maximum: 65_535,
  pattern: portName,
  maxLength: 15,
} as const satisfies Schema;

/** Runs a command in the app's cgroup, as its user. */
export const execAction = {
  type: "object",
  description: "A command run in the app's cgroup, as its user, in its folder. Exit code 0 is success.",
  required: ["command"],
  properties: {
    command: {
      type: "array",
      description: "The program and its arguments. No shell is put around it.",
      "x-kubernetes-list-type": "atomic",
      minItems: 1,
      maxItems: 256,
      items: { type: "string", pattern: withoutNUL, maxLength: 131_072 },
    },
  },
} as const satisfies Schema;

/** Asks over HTTP. */
export const httpGetAction = {
  type: "object",
  description: "A GET request. A status of 200 to 399 is success. Certificates are not verified.",
  required: ["port"],
  properties: {
    path: {
      type: "string",
      description: "Path and query.",
      default: "/",
      pattern: "^(/[^\\x00-\\x20\\x7f]*)?$",
    },
    port: probedPort,
    host: {
      type: "string",
      description: "Host to ask; the node itself if empty.",
      pattern: "^[^\\x00-\\x20\\x7f/?#@]*$",
    },
    scheme: { type: "string", description: "HTTP or HTTPS.", enum: ["HTTP", "HTTPS"], default: "HTTP" },
    httpHeaders: {
      type: "array",
      description: "Headers to send; one name may come more than once.",
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

/** Opens a connection. */
export const tcpSocketAction = {
  type: "object",
  description: "A TCP connection. That it opens is success.",
  required: ["port"],
  properties: {
    port: probedPort,
    host: {
      type: "string",
      description: "Host to connect to; the node itself if empty.",
      pattern: "^[^\\x00-\\x20\\x7f/?#@]*$",
    },
  },
} as const satisfies Schema;

const seconds = (description: string, minimum: number, value: number) =>
  ({ type: "integer", format: "int32", description, minimum, maximum: 86_400, default: value }) as const;

/** A probe with the given story, one mechanism, and the timing fields of a Pod's. */
export const probe = (description: string, maxSuccessThreshold: number) =>
  ({
    type: "object",
    description: `${description} Exactly one of exec, httpGet, tcpSocket.`,
    properties: {
      exec: execAction,
      httpGet: httpGetAction,
      tcpSocket: tcpSocketAction,
      initialDelaySeconds: seconds("Seconds from the start of the app to the first probe.", 0, 0),
      periodSeconds: seconds("Seconds from one probe to the next.", 1, 10),
      timeoutSeconds: seconds("Seconds after which a probe has failed.", 1, 1),
      successThreshold: {
        type: "integer",
        format: "int32",
        description:
          "Successes in a row, after a failure, that count as success. 1 for liveness and startup.",
        minimum: 1,
        maximum: maxSuccessThreshold,
        default: 1,
      },
      failureThreshold: {
        type: "integer",
        format: "int32",
        description: "Failures in a row that count as failure.",
        minimum: 1,
        maximum: 1_000_000,
        default: 3,
      },
    },
  }) as const satisfies Schema;
