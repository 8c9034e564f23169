/** What a failed connection means, in words: the messages of OpenSSL, undici and the system are for programmers. Pure. */

const meanings: Record<string, string | undefined> = {
  ECONNREFUSED: "nothing listens there",
  ENOTFOUND: "the name of the host is unknown",
  EAI_AGAIN: "the name server does not answer",
  EHOSTUNREACH: "there is no route to the host",
  ENETUNREACH: "there is no route to the host",
  ETIMEDOUT: "the host does not answer",
  UND_ERR_CONNECT_TIMEOUT: "the host does not answer",
  ECONNRESET: "the server closed the connection",
  EPIPE: "the server closed the connection",
  UND_ERR_SOCKET: "the server closed the connection without an answer, as a server does that expects https",
  DEPTH_ZERO_SELF_SIGNED_CERT: "the server's certificate is self-signed: name its CA",
  SELF_SIGNED_CERT_IN_CHAIN: "the server's certificate is of a CA that is not trusted: name its CA",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: "the server's certificate is of a CA that is not trusted: name its CA",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "the server's certificate is of a CA that is not trusted: name its CA",
  CERT_HAS_EXPIRED: "the server's certificate has expired",
  CERT_NOT_YET_VALID: "the server's certificate is not valid yet: check the clock",
  ERR_TLS_CERT_ALTNAME_INVALID: "the server's certificate is for another address",
  ERR_SSL_WRONG_VERSION_NUMBER: "the server does not speak TLS: use http:// or another port",
  ERR_SSL_PACKET_LENGTH_TOO_LONG: "the server does not speak TLS: use http:// or another port",
};

/** Returns an error with the meaning as its message, and the code in it. An error without a known meaning is returned as it is. */
export function explainNetworkError(error: unknown): unknown {
  const { code, message = "", errors } = error as { code?: string; message?: string; errors?: Error[] };
  const [first] = errors ?? [];
  // A host with several addresses has an error for each.
  const known = code ?? (first as { code?: string } | undefined)?.code ?? "";
  const openssl = /error:[0-9A-F]+:SSL routines:[^:]*:([^:]+):/.exec(message)?.[1];
  const meaning = meanings[known] ?? (openssl && `TLS failed: ${openssl}`);
  return meaning ? Object.assign(new Error(`${meaning} (${known})`), { code: known }) : error;
}
