import type { KubeClient, KubeRequest } from "../../src/kube/client/client.ts";
import { KubeError } from "../../src/kube/kube-error.ts";
import { applyMergePatch } from "../report/fake-server.ts";

// deno-lint-ignore no-explicit-any
type Stored = any;

/** A store of objects by their path that checks uid and resourceVersion as an API server does for built-in kinds. */
export class FakeApi {
  readonly objects = new Map<string, Stored>();
  readonly asked: (KubeRequest & { body?: Stored })[] = [];
  /** Answers instead of the store where it returns or throws something. */
  intercept: (request: KubeRequest) => unknown = () => undefined;
  #counter = 1000;

  readonly client: KubeClient = {
    access: { server: new URL("https://server.test:6443") } as KubeClient["access"],
    request: (<T>(request: KubeRequest) => this.#request(request) as Promise<T>) as KubeClient["request"],
    stream: () => Promise.reject(new Error("no streams here")),
    close() {},
  };

  /** What was asked since the last look: `PATCH /api/v1/nodes/n1/status`. */
  takeAsked(): string[] {
    return this.asked.splice(0).map(({ method, path }) => `${method} ${path}`);
  }

  get(path: string): Stored {
    return this.objects.get(path);
  }

  put(path: string, object: Stored): void {
    const metadata = {
      uid: `uid-${++this.#counter}`,
      generation: 1,
      ...object.metadata,
      resourceVersion: String(++this.#counter),
    };
    this.objects.set(path, structuredClone({ ...object, metadata }));
  }

  async #request({ signal: _, ...request }: KubeRequest): Promise<unknown> {
    const asked: KubeRequest = { method: "GET", ...structuredClone(request) };
    this.asked.push(asked);
    return structuredClone(await this.intercept(asked) ?? this.#answer(asked));
  }

  #answer(request: KubeRequest & { body?: Stored }): Stored {
    const path = request.path.replace(/\/status$/, "");
    if (request.method === "POST") {
      const created = `${path}/${request.body.metadata.name}`;
      if (this.objects.has(created)) throw problem(request, 409, "AlreadyExists");
      this.put(created, request.body);
      return this.get(created);
    }
    const object = this.get(path);
    if (!object) throw problem(request, 404, "NotFound");
    if (request.method === "GET") return object;
    if (request.method === "DELETE") {
      if (request.body.preconditions.uid !== object.metadata.uid) throw problem(request, 409, "Conflict");
      this.objects.delete(path);
      return object;
    }
    const { uid, resourceVersion } = request.body.metadata ?? {};
    if (resourceVersion && resourceVersion !== object.metadata.resourceVersion) {
      throw problem(request, 409, "Conflict");
    }
    if (uid && uid !== object.metadata.uid) throw problem(request, 422, "Invalid");
    const next = request.method === "PUT" ? request.body : applyMergePatch(object, request.body);
    const isNew = JSON.stringify(next.spec) !== JSON.stringify(object.spec);
    const generation = (object.metadata.generation ?? 1) + (isNew ? 1 : 0);
    this.put(path, { ...next, metadata: { ...next.metadata, uid: object.metadata.uid, generation } });
    return this.get(path);
  }
}

/** An error as the client gives it. */
export function problem(
  { method = "GET", path }: KubeRequest,
  status: number | undefined,
  reason: string,
): KubeError {
  return new KubeError("made up by the test", {
    method,
    url: `https://server.test:6443${path}`,
    status,
    reason,
  });
}
