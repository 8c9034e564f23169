/**
 * Certificates and requests for them, as far as `node:crypto` does not make and read them: der.ts is their encoding,
 * certificate-request.ts makes requests and reads exactly what it makes.
 */
export {
  alternativeNames,
  canonicalAddress,
  createCertificateRequest,
  isHostName,
  keyDigest,
  parseCertificateRequest,
  type ParsedRequest,
  type RequestedCertificate,
} from "./certificate-request.ts";
export { bits, extension, nameAttribute, oid, oids, sequence, tagged, tags, toPEM } from "./der.ts";
