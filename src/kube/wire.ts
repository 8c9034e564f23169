/** A typed model as it travels in JSON: the generated models have Date where the server sends text. */
export type Wire<T> = T extends Date ? string
  : T extends (infer Item)[] ? Wire<Item>[]
  : T extends object ? { [Field in keyof T]: Wire<T[Field]> }
  : T;

/** What every object has, as far as lists and watches read it. */
export interface KubeObject {
  apiVersion?: string;
  kind?: string;
  metadata?: ObjectMeta;
}

export interface ObjectMeta {
  name?: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
}

/** An object that certainly has a name and a uid. */
export type Identified<T extends KubeObject> = T & {
  metadata: NonNullable<T["metadata"]> & { name: string; uid: string; resourceVersion: string };
};

/** The server's answer where there is no object to answer with. */
export interface Status {
  kind: "Status";
  code?: number;
  reason?: string;
  message?: string;
  details?: { retryAfterSeconds?: number };
}

/** Reads a Status out of what may be anything; a field of another type than it has to be is left out. */
export function asStatus(body: unknown): Status | undefined {
  const { kind, code, reason, message } = (body ?? {}) as { [field: string]: unknown };
  if (kind !== "Status") return undefined;
  return {
    kind,
    ...(typeof code === "number" && { code }),
    ...(typeof reason === "string" && { reason }),
    ...(typeof message === "string" && { message }),
  };
}
