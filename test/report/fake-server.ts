import type { NCApp, NCAppStatus } from "../../src/api/types.ts";
import type { KubeClient, KubeRequest } from "../../src/kube/client/client.ts";
import { KubeError } from "../../src/kube/kube-error.ts";

export interface Asked extends KubeRequest {
  method: NonNullable<KubeRequest["method"]>;
  // deno-lint-ignore no-explicit-any
  body?: any;
}

const server = new URL("https://server.test:6443");

/**
 * Some objects and their versions, as an API server keeps them. As the real one it takes the patch of a custom resource's
 * status whatever its uid says, and checks the resourceVersion.
 */
export class FakeServer {
  readonly objects = new Map<string, Stored>();
  readonly asked: Asked[] = [];
  /** Answers instead of the server where it returns or throws something. */
  intercept: (request: Asked) => unknown = () => undefined;
  #version = 100;
  #inFlight = new Map<string, number>();
  mostInFlight = 0;

  readonly client: KubeClient = {
    access: { server } as KubeClient["access"],
    request: (<T>(request: KubeRequest) => this.#request(request) as Promise<T>) as KubeClient["request"],
    stream: () => Promise.reject(new Error("no streams here")),
    close() {},
  };

  get patches(): Asked[] {
    return this.asked.filter(({ method }) => method === "PATCH");
  }

  add(name: string, status?: NCAppStatus, uid = `uid-of-${name}`): Stored {
    const metadata = { name, namespace: "default", uid, resourceVersion: this.#nextVersion() };
    const object: Stored = {
      apiVersion: "app.example.com/v1alpha1",
      kind: "NCApp",
      metadata,
      spec: { nodeName: "node-a" },
      status,
    };
    this.objects.set(name, object);
    return object;
  }

  /** Another writer changes the object. */
  touch(name: string, change: (object: Stored) => void): Stored {
    const object = this.objects.get(name)!;
    change(object);
    object.metadata.resourceVersion = this.#nextVersion();
    return object;
  }

  status(name: string): NCAppStatus {
    return this.objects.get(name)?.status ?? {};
  }

  async #request(request: KubeRequest): Promise<unknown> {
    const asked: Asked = { method: "GET", ...structuredClone({ ...request, signal: undefined }) };
    this.asked.push(asked);
    this.#count(asked.path, 1);
    try {
      const given = await this.intercept(asked);
      if (request.signal?.aborted) throw problem(asked, undefined, "Aborted");
      return structuredClone(given ?? this.#answer(asked));
    } finally {
      this.#count(asked.path, -1);
    }
  }

  #answer(request: Asked): Stored {
    const [, name = "", subresource] = request.path.match(/ncapps\/([^/]+)(?:\/(\w+))?$/) ?? [];
    const object = this.objects.get(name);
    if (!object) throw problem(request, 404, "NotFound");
    if (request.method === "GET") return object;
    if (subresource !== "status") throw problem(request, 405, "MethodNotAllowed");
    const { metadata, status } = request.body;
    if (metadata.resourceVersion && metadata.resourceVersion !== object.metadata.resourceVersion) {
      throw problem(request, 409, "Conflict");
    }
    object.status = applyMergePatch(object.status ?? {}, status) as NCAppStatus;
    object.metadata.resourceVersion = this.#nextVersion();
    return object;
  }

  #nextVersion(): string {
    return String(++this.#version);
  }

  #count(path: string, change: number): void {
    const name = path.match(/ncapps\/([^/]+)/)?.[1] ?? path;
    this.#inFlight.set(name, (this.#inFlight.get(name) ?? 0) + change);
    this.mostInFlight = Math.max(this.mostInFlight, this.#inFlight.get(name)!);
  }
}

export type Stored = NCApp & { metadata: { namespace: string; uid: string; resourceVersion: string } };

/** An error as the client gives it. */
export function problem(
  { method = "GET", path }: KubeRequest,
  status: number | undefined,
  reason: string,
  message = "made up by the test",
): KubeError {
  return new KubeError(message, { method, url: server.origin + path, status, reason });
}

/** RFC 7386, written for tests from its text. */
export function applyMergePatch(target: unknown, patch: unknown): unknown {
  if (typeof patch !== "object" || patch === null || Array.isArray(patch)) return patch;
  const isObject = typeof target === "object" && target !== null && !Array.isArray(target);
  const result: Record<string, unknown> = isObject ? { ...target as Record<string, unknown> } : {};
  for (const [field, value] of Object.entries(patch)) {
    if (value === null) delete result[field];
    else result[field] = applyMergePatch(result[field], value);
  }
  return result;
}

/** A promise and its ends, for requests that wait until the test lets them go. */
export function pending<T = void>(): {
  promise: Promise<T>;
  resolve: (value: T) => void;
  reject: (error: unknown) => void;
} {
  let resolve!: (value: T) => void;
  let reject!: (error: unknown) => void;
  const promise = new Promise<T>((yes, no) => [resolve, reject] = [yes, no]);
  return { promise, resolve, reject };
}
