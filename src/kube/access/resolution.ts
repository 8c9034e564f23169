/** A kubeconfig, resolved: plain JSON, since the agent gets it from a child process. */
import { delimiter } from "node:path";
import { stampOf } from "./changing-file.ts";

/** The API server, and how the user authenticates; no secrets. */
export interface Target {
  /** Such as `context "edge" of /etc/nckubelet/kubeconfig`. */
  context: string;
  /** The kind of credential, such as `exec plugin aws`. */
  kind: string;
  server: string;
  namespace?: string;
  proxyUrl?: string;
  /** All files that were read or searched, each as it was before that. */
  files: FileStamp[];
}

/** What proves to the server who the user is, and to the user which server it is. */
export interface Credentials {
  headers: Headers;
  tls: TlsMaterial;
  /** Milliseconds since the epoch; absent: valid until rejected. */
  expiresAt?: number;
  /** The kubeconfig after this resolution has changed it. */
  saved?: FileStamp;
  warning?: string;
}

/** An array is a header that occurs several times. */
export type Headers = Record<string, string | string[]>;

export interface TlsMaterial {
  ca?: string;
  cert?: string;
  key?: string;
  servername?: string;
  rejectUnauthorized: boolean;
}

export interface FileStamp {
  path: string;
  /** Changes with the file; empty: there is none. */
  stamp: string;
}

/** The target is known at once; the credentials may need a plugin or an issuer that takes long or fails. */
export interface Resolution {
  target: Target;
  credentials: Promise<Credentials>;
}

/** Reads the kubeconfig; `rejected`: the server did not accept the last credential. */
export type Resolve = (request: { rejected: boolean }) => Promise<Resolution>;

/** Describes a user who has nothing but a bootstrap token: it is good for requesting a certificate, and for nothing else. */
export const bootstrapKind = "bootstrap token";

/** Reports whether a token has the form of a bootstrap token, as kubeadm creates them. */
export function isBootstrapToken(token: string): boolean {
  return /^[a-z0-9]{6}\.[a-z0-9]{16}$/.test(token);
}

/** Returns the files of a list like KUBECONFIG; a path with a colon cannot be part of one. */
export function splitKubeconfig(list: string): string[] {
  return list.split(delimiter).filter(Boolean);
}

export async function stampFiles(paths: string[]): Promise<FileStamp[]> {
  return await Promise.all(paths.map(async (path) => ({ path, stamp: await stampOf(path).catch(() => "") })));
}
