/** Requests for certificates, good and bad, for tests of what is approved. */
import { generateKeyPairSync, type KeyObject } from "node:crypto";
import {
  agentAccounts,
  agentGroup,
  agentUser,
  bootstrapGroup,
  clientSigner,
  servingGroup,
  servingSigner,
  servingUser,
} from "../../src/api/names.ts";
import { createCertificateRequest } from "../../src/lib/x509/x509.ts";
import type { CertificateRequest } from "../../src/identities/decide.ts";

export type Keys = { publicKey: KeyObject; privateKey: KeyObject };

export function newKeys(): Keys {
  return generateKeyPairSync("ec", { namedCurve: "P-256" });
}

export const bootstrapper = {
  username: "system:bootstrap:abcdef",
  groups: ["system:bootstrappers", bootstrapGroup, "system:authenticated"],
};

export function agentOf(node: string) {
  return { username: agentUser(node), groups: [agentGroup, "system:authenticated"] };
}

export function accountOf(node: string) {
  return { username: `system:serviceaccount:nckubelet-agents:${node}`, groups: [agentAccounts] };
}

interface Parts extends Partial<CertificateRequest> {
  organization?: string;
  commonName?: string;
  names?: string[];
  keys?: Keys;
}

export function clientRequest(node: string, parts: Parts = {}): CertificateRequest {
  const { organization = agentGroup, commonName = agentUser(node), names = [], keys = newKeys(), ...rest } =
    parts;
  return {
    signerName: clientSigner,
    ...bootstrapper,
    usages: ["digital signature", "client auth"],
    request: createCertificateRequest({ organization, commonName, names }, keys),
    ...rest,
  };
}

export function servingRequest(node: string, parts: Parts = {}): CertificateRequest {
  const { names = [node, "10.0.0.7"], ...rest } = parts;
  return clientRequest(node, {
    organization: servingGroup,
    commonName: servingUser(node),
    names,
    signerName: servingSigner,
    ...agentOf(node),
    usages: ["digital signature", "key encipherment", "server auth"],
    ...rest,
  });
}
