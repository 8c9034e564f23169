/** A typed model as it travels in JSON: the generated models have Date where the server sends a string. */
export type Wire<T> = T extends Date ? string
  : T extends (infer Item)[] ? Wire<Item>[]
  : T extends object ? { [Field in keyof T]: Wire<T[Field]> }
  : T;

/** The fields of every object that lists and watches read. */
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

export type Identified<T extends KubeObject> = T & {
  metadata: NonNullable<T["metadata"]> & { name: string; uid: string; resourceVersion: string };
};

/** The server's answer if there is no object to return. */
export interface Status {
  kind: "Status";
  code?: number;
  reason?: string;
  message?: string;
}

/** Reads a Status from any value; fields of a wrong type are left out. */
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
