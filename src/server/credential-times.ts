/** When the credentials of this process expire, for `/metrics`: those for the API server, and those of the listeners. */
import { certificateExpiry } from "../kube/access/access.ts";
import type { Family } from "../lib/metrics.ts";

export interface CredentialTimes {
  /** Notes the certificates that a listener uses; without a text it uses none. */
  note(credential: string, pem: string | undefined): void;
  /** Adds what `read` returns at each scrape, by the name of the credential. */
  follow(read: () => Readonly<Record<string, number | undefined>>): void;
  family(): Family;
}

export function createCredentialTimes(): CredentialTimes {
  const noted = new Map<string, number | undefined>();
  const followed: Parameters<CredentialTimes["follow"]>[0][] = [];
  return {
    note: (credential, pem) => void noted.set(credential, pem ? certificateExpiry(pem) : undefined),
    follow: (read) => void followed.push(read),
    family() {
      const all = [...noted, ...followed.flatMap((read) => Object.entries(read()))];
      return {
        name: "nckubelet_credential_expiration_timestamp_seconds",
        help: "When a credential of this process expires.",
        type: "gauge",
        values: all.flatMap(([credential, time]) =>
          time === undefined ? [] : [{ labels: { credential }, value: time / 1000 }]
        ),
      };
    },
  };
}
