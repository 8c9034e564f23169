/**
 * Requests one certificate from the API server, and waits until it is approved and signed.
 *
 * Guarantees: the name of a request follows from what is requested, so an agent that was restarted finds its request again instead of
 * adding another. A certificate is returned only if it is for our key and our subject, whoever created the request.
 */
import { Buffer } from "node:buffer";
import { createHash, type KeyObject, X509Certificate } from "node:crypto";
import type { KubeClient } from "../../kube/client/client.ts";
import { objectsOf } from "../../kube/guarded-write.ts";
import { hasStatus } from "../../kube/kube-error.ts";
import { apiVersionOf, certificateRequests } from "../../kube/resources.ts";
import type { KubeObject } from "../../kube/wire.ts";
import { createBackoff } from "../../lib/backoff.ts";
import {
  createCertificateRequest,
  keyDigest,
  parseCertificateRequest,
  type RequestedCertificate,
} from "../../lib/x509/x509.ts";
import type { Logger } from "../../lib/log.ts";
import { sleep } from "../../lib/sleep.ts";
import { steadyNow } from "../../lib/time.ts";

export interface CertificateOrder extends RequestedCertificate {
  node: string;
  signerName: string;
  usages: string[];
  keys: { publicKey: KeyObject; privateKey: KeyObject };
  /** The certificate that it replaces; another one is another request. */
  replaces?: string;
}

/** `refused` says why there is none, for users; a later request may succeed. */
export type Outcome = { issued: string } | { pending: string } | { refused: string };

interface RequestObject extends KubeObject {
  spec?: { signerName?: string; request?: string };
  status?: { certificate?: string; conditions?: { type: string; reason?: string; message?: string }[] };
}

export interface AskOptions {
  signal: AbortSignal;
  log: Logger;
  /** How long to wait for the approval before the caller gets `pending`. */
  waitMs?: number;
}

/** Old requests of the same name stay for an hour or two: this many denials in that time are enough. */
const mostTries = 20;

/** Throws a KubeError if the server does not take the request. */
export async function requestCertificate(
  client: KubeClient,
  order: CertificateOrder,
  { signal, log, waitMs = 600_000 }: AskOptions,
): Promise<Outcome> {
  const objects = objectsOf<RequestObject>(client, certificateRequests, { signal });
  const base = nameOf(order);
  for (let attempt = 0; attempt < mostTries; attempt++) {
    const name = attempt === 0 ? base : `${base}-${attempt}`;
    let found: RequestObject | undefined;
    try {
      found = await objects.create(bodyOf(name, order));
      log.info("requested a certificate", { request: name, signer: order.signerName });
    } catch (error) {
      if (!hasStatus(error, 409)) throw error;
      found = await objects.read({ name });
      if (!found || !isOurs(found, order) || endOf(found)) continue;
    }
    return await wait(found);
  }
  return {
    refused:
      `${mostTries} requests like ${base} were denied: kube-controller-manager deletes them within 2 hours`,
  };

  async function wait(first: RequestObject): Promise<Outcome> {
    const name = first.metadata!.name!;
    const until = steadyNow() + waitMs;
    const backoff = createBackoff({ initialMs: 300, maxMs: 15_000, jitter: 0.3 });
    let found: RequestObject | undefined = first;
    while (!signal.aborted && steadyNow() < until) {
      if (!found) return { refused: `the request ${name} was deleted` };
      const end = endOf(found);
      if (end) return { refused: `the request ${name} was ${end}` };
      const { certificate } = found.status ?? {};
      if (certificate) return check(Buffer.from(certificate, "base64").toString("utf8"), name, order);
      await sleep(backoff.next(), signal);
      found = await objects.read({ name });
    }
    const isApproved = found?.status?.conditions?.some(({ type }) => type === "Approved");
    const whom = isApproved
      ? "signed by kube-controller-manager"
      : `approved: by nckubelet controller, or kubectl certificate approve ${name}`;
    return { pending: `the request ${name} waits to be ${whom}` };
  }
}

function nameOf({ node, signerName, usages, names, keys, replaces = "" }: CertificateOrder): string {
  const parts = JSON.stringify([signerName, usages, names, keyDigest(keys.publicKey), replaces]);
  const digest = createHash("sha256").update(parts).digest("hex").slice(0, 16);
  return `nckubelet-${node.slice(0, 200)}-${digest}`;
}

function bodyOf(name: string, order: CertificateOrder): KubeObject & { spec: object } {
  const { signerName, usages, keys } = order;
  const request = Buffer.from(createCertificateRequest(order, keys)).toString("base64");
  return {
    apiVersion: apiVersionOf(certificateRequests),
    kind: certificateRequests.kind,
    metadata: { name },
    spec: { signerName, usages, request },
  };
}

function isOurs({ spec }: RequestObject, { signerName, keys }: CertificateOrder): boolean {
  try {
    const { key } = parseCertificateRequest(Buffer.from(spec?.request ?? "", "base64").toString("latin1"));
    return spec?.signerName === signerName && key === keyDigest(keys.publicKey);
  } catch {
    return false;
  }
}

/** How a request ended without a certificate. */
function endOf({ status }: RequestObject): string | undefined {
  const end = status?.conditions?.find(({ type }) => type === "Denied" || type === "Failed");
  return end && `${end.type.toLowerCase()}: ${end.message || end.reason || "without a reason"}`;
}

function check(cert: string, name: string, { keys, commonName }: CertificateOrder): Outcome {
  try {
    const certificate = new X509Certificate(cert);
    const isForUs = keyDigest(certificate.publicKey) === keyDigest(keys.publicKey) &&
      certificate.subject.split("\n").includes(`CN=${commonName}`);
    return isForUs
      ? { issued: cert }
      : { refused: `the certificate of ${name} is for another key or subject` };
  } catch (error) {
    return { refused: `the certificate of ${name} cannot be read: ${(error as Error).message}` };
  }
}
