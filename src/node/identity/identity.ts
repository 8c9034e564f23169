/**
 * The certificates of this node's agent: the one by which the API server knows it, and the one by which it knows the node.
 *
 * A node that joins with a bootstrap token makes a key, requests its client certificate with it (`client-identity.ts`), and renews that
 * with the certificate itself. The certificate of the kubelet API is requested the same way (`serving-certificate.ts`).
 * `keep-certificate.ts` says when; `request-certificate.ts` asks.
 */
export { type ClientIdentity, createClientIdentity, ownKubeconfig } from "./client-identity.ts";
export { createServingCertificate, type ServingCertificate } from "./serving-certificate.ts";
