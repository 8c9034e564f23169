/**
 * The patterns of the schema, each with the message for a value that does not match.
 *
 * They run in two engines: RE2 in the API server, JavaScript's in the local validator. They use only what both
 * interpret alike: no look-around, no back references, and `^`, `$` for the whole text.
 */

const dnsLabel = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const dnsSubdomain = `${dnsLabel}(\\.${dnsLabel})*`;

/** More than 0, at most 100, any decimals, an optional percent sign; or nothing. */
export const percent = "^((100(\\.0+)?|[1-9][0-9]?(\\.[0-9]+)?|0\\.0*[1-9][0-9]*)%?)?$";
/** A percentage of 1 to 100 without decimals. */
export const unavailableShare = "^(100|[1-9][0-9]?)%$";
/** An absolute path, a web address, or nothing. */
export const pathOrURL =
  "^(/[^\\x00-\\x1f\\x7f]*|https?://[^\\x00-\\x20\\x7f/?#@]+([/?#][^\\x00-\\x20\\x7f]*)?)?$";
/** An absolute path, or nothing. */
export const path = "^(/[^\\x00-\\x1f\\x7f]*)?$";
/** An absolute path, with a leading "-" if nothing may be there; or nothing. */
export const optionalPath = "^(-?/[^\\x00-\\x1f\\x7f]*)?$";
/** Text that execve accepts. */
export const withoutNUL = "^[^\\x00]*$";
/** A SHA-256 digest in hex, or nothing. */
export const sha256 = "^([0-9A-Fa-f]{64})?$";
/** A name that sh keeps as a variable. */
export const identifier = "^[A-Za-z_][A-Za-z0-9_]*$";
/** A user or group by name or number, or nothing. */
export const account = "^(0|[1-9][0-9]{0,9}|[A-Za-z_][A-Za-z0-9_.@-]*[$]?)?$";
/** An IANA service name: at least one letter, no hyphen at either end nor two in a row. */
export const portName = "^([a-z0-9]+-)*[0-9]*[a-z][a-z0-9]*(-[a-z0-9]+)*$";
/** The name of a Kubernetes object. */
export const subdomain = `^${dnsSubdomain}$`;
/** The name of a Kubernetes object, or nothing. */
export const subdomainOrEmpty = `^(${dnsSubdomain})?$`;
/** The name of a namespace. */
export const label = `^${dnsLabel}$`;
/** The length of the longest label or taint key: a prefix of 253 characters, a slash and a name of 63. */
export const maxLabelKeyLength = 317;
/** A label or taint key, with an optional prefix. */
export const qualifiedName = `^(${dnsSubdomain}/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$`;
/** A label or taint key, or nothing. */
export const qualifiedNameOrEmpty = `^((${dnsSubdomain}/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$`;
/** The value of a label or taint, or nothing. */
export const labelValue = "^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$";
/** A key of a ConfigMap or Secret. */
export const dataKey = "^[-._a-zA-Z0-9]+$";
/** A field of an app that a variable may have. */
export const fieldPath =
  "^(metadata\\.(name|namespace|uid|(labels|annotations)\\['[^'\\x00]+'\\])|spec\\.(nodeName|cpuPCT|memPCT))$";
/** The name of an HTTP header. */
export const headerName = "^[-A-Za-z0-9!#$%&'*+.^_`|~]+$";
/** The value of an HTTP header: one line. */
export const headerValue = "^[^\\x00\\r\\n]*$";
/** The path of an HTTP request, or nothing. */
export const requestPath = "^(/[^\\x00-\\x20\\x7f]*)?$";
/** A host name or address, or nothing. */
export const host = "^[^\\x00-\\x20\\x7f/?#@]*$";

/** Returns the message for a value that does not match the pattern. */
export function explainMismatch(pattern: string, value: string): string {
  if (pattern === pathOrURL) return explainPathOrURL(value);
  if (pattern === percent && /^\d+(\.\d+)?(m|[kKMGTP]i?|B)$/.test(value)) {
    return 'is an amount, but caps are shares of the node: use a percentage such as "20" or "12.5%"';
  }
  return meaning.get(pattern) ?? `must match ${pattern}`;
}

const meaning: ReadonlyMap<string, string> = new Map([
  [
    percent,
    'must be a percentage greater than 0 and at most 100, such as "20", "12.5" or "20%", or "" for no cap',
  ],
  [unavailableShare, 'must be a number of apps or a percentage such as "10%"'],
  [path, "must be an absolute path without control characters"],
  [optionalPath, 'must be an absolute path, with a leading "-" if the file may be missing'],
  [withoutNUL, "must not contain a NUL character: programs cannot receive one"],
  [sha256, "must be the 64 hex digits of a SHA-256 digest"],
  [
    identifier,
    "must be letters, digits and underscores, not starting with a digit: sh drops other names",
  ],
  [account, "must be the name or the number of a user or group"],
  [portName, "must be lower-case letters, digits and single hyphens, with at least one letter"],
  [subdomain, "must be a DNS-1123 subdomain: lower-case letters, digits, '-' and '.'"],
  [subdomainOrEmpty, "must be a DNS-1123 subdomain: lower-case letters, digits, '-' and '.'"],
  [label, "must be a DNS-1123 label: lower-case letters, digits and '-'"],
  [qualifiedName, "must be a qualified name such as 'zone' or 'example.com/zone'"],
  [qualifiedNameOrEmpty, "must be a qualified name such as 'zone' or 'example.com/zone'"],
  [labelValue, "must be letters, digits, '-', '_' and '.', with a letter or digit at both ends"],
  [dataKey, "must be letters, digits, '-', '_' and '.'"],
  [
    fieldPath,
    "must be metadata.name, metadata.namespace, metadata.uid, metadata.labels['KEY'], metadata.annotations['KEY'], " +
    "spec.nodeName, spec.cpuPCT or spec.memPCT",
  ],
  [headerName, "must be a valid HTTP header name"],
  [headerValue, "must be one line"],
  [requestPath, "must start with a slash and have no spaces"],
  [host, "must be a host name or address, without scheme, port or path"],
]);

function explainPathOrURL(value: string): string {
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(value)?.[1];
  if (/[\x00-\x1f\x7f]/.test(value)) return "must not contain control characters";
  if (scheme === undefined) return "must be an absolute path, or an https:// or http:// URL";
  if (scheme !== "http" && scheme !== "https") {
    return `the scheme "${scheme}" is not supported: use https or http`;
  }
  if (/^https?:\/\/[^/?#]*@/.test(value)) {
    return "must not contain credentials: everyone who can read the NCApp can read them";
  }
  return "must be a URL with a host name and without spaces";
}
