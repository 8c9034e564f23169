import { isDeepStrictEqual } from "node:util";
import type { KubeClient, KubeRequest } from "../../src/kube/client/client.ts";
import { KubeError } from "../../src/kube/kube-error.ts";
import * as resources from "../../src/kube/resources.ts";
import { accept, type Answer, isStream, isWatch, json, refuse, refuseStream } from "./fake-server.ts";

// deno-lint-ignore no-explicit-any
type Stored = any;

/** A request as the fake received it. */
export type Asked = KubeRequest & { method: NonNullable<KubeRequest["method"]>; body?: Stored };

const kinds = Object.values(resources).filter((value) => typeof value === "object");
const origin = "https://server.test:6443";

/**
 * An API server that stores objects by path and checks uid and resourceVersion like the real one. `client` answers in the
 * process, for tests with a fake clock; `answer` answers over HTTP, with withServer() and withClient(). Watches stay silent.
 */
export class FakeApi {
  readonly objects = new Map<string, Stored>();
  readonly asked: Asked[] = [];
  /**
   * Orders faults. What it returns is the answer; a status code refuses, 0 breaks the connection; a promise that stays pending
   * hangs; a function writes the HTTP response. It may also throw a problem(). Undefined leaves the answer to the store.
   */
  intercept: (request: Asked) => unknown = () => undefined;
  #version = 1000;

  readonly client: KubeClient = {
    access: { server: new URL(origin) } as KubeClient["access"],
    request: <T>({ signal, ...request }: KubeRequest) =>
      this.#request({ method: "GET", ...structuredClone(request) }, signal) as Promise<T>,
    stream: () => Promise.reject(new Error("FakeApi.client has no streams: use withClient(api.answer)")),
    close() {},
  };

  readonly answer: Answer = async ({ method, path, query, body }, response) => {
    const asked = { method, path, body: body === "" ? undefined : JSON.parse(body) } as Asked;
    try {
      const given = await this.#request({ ...asked, query: Object.fromEntries(query) });
      if (typeof given === "function") given(response);
      else if (isStream({ query })) refuseStream(response);
      else if (isWatch({ query })) accept(response);
      else json(response, given, method === "POST" ? 201 : 200);
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      if (error.status === undefined) response.destroy();
      else refuse(response, error.status, error.reason ?? "", error.message);
    }
  };

  /** The requests since the last call: `PATCH /api/v1/nodes/n1/status`. */
  takeAsked(): string[] {
    return this.asked.splice(0).map(({ method, path }) => `${method} ${path}`);
  }

  get(path: string): Stored {
    return this.objects.get(path);
  }

  /** Stores an object with a new version. */
  put(path: string, object: Stored): Stored {
    const [, namespace, name] = /(?:\/namespaces\/([^/]+))?\/[^/]+\/([^/]+)$/.exec(path) ?? [];
    const metadata = {
      ...(namespace && { namespace }),
      name,
      uid: `uid-${++this.#version}`,
      generation: 1,
      ...object.metadata,
      resourceVersion: String(++this.#version),
    };
    this.objects.set(path, structuredClone({ ...object, metadata }));
    return this.get(path);
  }

  /** Stores an object at the path of its resource, namespace and name. */
  add(resource: resources.KubeResource, object: { metadata?: resources.ObjectRef }): Stored {
    const { namespace, name } = object.metadata ?? {};
    return this.put(resources.resourcePath(resource, { namespace, name }), object);
  }

  /** Changes an object as another writer does. */
  touch(path: string, change: (object: Stored) => void): Stored {
    const object = structuredClone(this.get(path));
    change(object);
    return this.put(path, object);
  }

  async #request(asked: Asked, signal?: AbortSignal): Promise<Stored> {
    this.asked.push(asked);
    const given = await this.intercept(asked);
    if (signal?.aborted) throw problem(asked, undefined, "Aborted");
    if (typeof given === "number") throw problem(asked, given || undefined, "Told");
    return typeof given === "function" ? given : structuredClone(given ?? this.#answer(asked));
  }

  #answer(request: Asked): Stored {
    const { method, body } = request;
    const path = request.path.replace(/\/(?:status|approval)$/, "");
    if (method === "POST") return this.#create(request);
    const object = this.get(path);
    if (!object && method === "GET") return this.#list(request);
    if (!object) throw problem(request, 404, "NotFound");
    if (method === "GET") return object;
    const { uid, resourceVersion } = (method === "DELETE" ? body.preconditions : body.metadata) ?? {};
    if (resourceVersion && resourceVersion !== object.metadata.resourceVersion) {
      throw problem(request, 409, "Conflict");
    }
    // The API server ignores the uid in a patch of a custom resource's status.
    const ignoresUid = path !== request.path && path.includes("/ncapps/");
    if (uid && uid !== object.metadata.uid && !ignoresUid) {
      throw method === "DELETE" ? problem(request, 409, "Conflict") : problem(request, 422, "Invalid");
    }
    if (method === "DELETE") return this.objects.delete(path) && object;
    const next = method === "PUT"
      ? body
      : Array.isArray(body)
      ? applyJSONPatch(request, object)
      : applyMergePatch(object, body);
    const isNew = JSON.stringify(next.spec) !== JSON.stringify(object.spec);
    const generation = (object.metadata.generation ?? 1) + (isNew ? 1 : 0);
    return this.put(path, { ...next, metadata: { ...next.metadata, uid: object.metadata.uid, generation } });
  }

  #create(request: Asked): Stored {
    const name = request.body.metadata?.name;
    // A review has no name, and is not stored.
    if (!name) return request.body;
    const path = `${request.path}/${name}`;
    if (this.objects.has(path)) throw problem(request, 409, "AlreadyExists");
    return this.put(path, request.body);
  }

  #list(request: Asked): Stored {
    const [, folder, plural] = /^(.*)\/([^/]+)$/.exec(request.path) ?? [];
    const resource = kinds.find((kind) => kind.plural === plural);
    if (!resource) throw problem(request, 404, "NotFound");
    const items = [...this.objects].filter(([path]) =>
      path.startsWith(`${folder}/`) && path.split("/").at(-2) === plural
    );
    return {
      apiVersion: resources.apiVersionOf(resource),
      kind: `${resource.kind}List`,
      metadata: { resourceVersion: String(this.#version) },
      items: items.map(([, object]) => object),
    };
  }
}

/** Tests and adds, as a JSON patch says. */
function applyJSONPatch(request: Asked, object: Stored): Stored {
  const next = structuredClone(object);
  for (const { op, path, value } of request.body) {
    const names: string[] = path.split("/").slice(1).map((name: string) => name.replaceAll("~1", "/"));
    const parent = names.slice(0, -1).reduce((part, name) => part?.[name], next);
    const field = names.at(-1)!;
    if (op === "test" && !isDeepStrictEqual(parent?.[field], value)) {
      throw problem(request, 422, "Invalid", `testing value ${path} failed`);
    }
    if (op === "add") parent[field] = value;
  }
  return next;
}

/** An error as the client throws it. */
export function problem(
  { method = "GET", path }: KubeRequest,
  status: number | undefined,
  reason: string,
  message = "made up by the test",
): KubeError {
  return new KubeError(message, { method, url: origin + path, status, reason });
}

/** RFC 7386, written for tests from its text. */
export function applyMergePatch(target: unknown, patch: unknown): Stored {
  if (typeof patch !== "object" || patch === null || Array.isArray(patch)) return patch;
  const isObject = typeof target === "object" && target !== null && !Array.isArray(target);
  const result: Record<string, unknown> = isObject ? { ...target } : {};
  for (const [field, value] of Object.entries(patch)) {
    if (value === null) delete result[field];
    else result[field] = applyMergePatch(result[field], value);
  }
  return result;
}
