/** How the user of a kubeconfig authenticates, decided from its entry alone. Pure. */
import { dirname, resolve } from "node:path";
import { type ExecPlugin, readExecPlugin } from "./exec-credential.ts";
import { type Entry, isFields } from "./kubeconfig-files.ts";
import { type OidcProvider, readOidcProvider } from "./oidc.ts";

/** A client certificate may be used beside it. */
export type AuthMethod =
  | { is: "token file"; path: string }
  | { is: "exec plugin"; plugin: ExecPlugin }
  | { is: "OIDC issuer"; provider: OidcProvider }
  | { is: "auth-provider"; name: string }
  | { is: "token" | "basic auth" | "anonymous" };

/** A token file overrides a token, a token overrides basic auth, and all of them override a plugin, as in kubectl. */
export function chooseMethod(user: Entry): AuthMethod {
  const { tokenFile, token, username, exec, "auth-provider": provider } = user.fields;
  checkPair(user);
  if (tokenFile) return { is: "token file", path: resolve(dirname(user.path), String(tokenFile)) };
  if (token) return { is: "token" };
  if (username) return { is: "basic auth" };
  if (exec) return { is: "exec plugin", plugin: readExecPlugin(exec, user) };
  if (!provider) return { is: "anonymous" };
  const name = isFields(provider) ? String(provider.name) : "";
  if (name === "oidc") return { is: "OIDC issuer", provider: readOidcProvider(provider, user) };
  // client-node would ignore any other name and send requests without a credential.
  if (name === "gcp" || name === "azure") return { is: "auth-provider", name };
  throw new Error(`${user.at}: auth-provider ${JSON.stringify(name)} is not supported`);
}

function checkPair({ fields, at }: Entry): void {
  const names = ["client-certificate", "client-key"];
  const [cert, key] = names.map((name) => Boolean(fields[name] || fields[`${name}-data`]));
  if (cert === key) return;
  throw new Error(`${at} has ${names[cert ? 0 : 1]} but no ${names[cert ? 1 : 0]}`);
}

/** Names the method for users, without its secrets. */
export function describeMethod({ fields }: Entry, method: AuthMethod): string {
  const certificate = fields["client-certificate"] || fields["client-certificate-data"];
  const parts = [certificate && "client certificate", methodName(method, Boolean(certificate))].filter(
    Boolean,
  );
  return parts.join(" and ") + (fields.as ? `, as ${fields.as}` : "");
}

function methodName(method: AuthMethod, hasCertificate: boolean): string {
  switch (method.is) {
    case "token file":
      return `${method.is} ${method.path}`;
    case "exec plugin":
      return `${method.is} ${method.plugin.command}`;
    case "OIDC issuer":
      return `${method.is} ${method.provider.issuer}`;
    case "auth-provider":
      return `${method.is} ${method.name}`;
    case "anonymous":
      return hasCertificate ? "" : method.is;
    default:
      return method.is;
  }
}

/** Returns the files that the entries name and that are used. */
export function referencedFiles(cluster: Entry, user: Entry, method: AuthMethod): string[] {
  // The inline form overrides the file.
  const named = ({ fields, path }: Entry, name: string) =>
    fields[name] && !fields[`${name}-data`] ? [resolve(dirname(path), String(fields[name]))] : [];
  return [
    ...named(cluster, "certificate-authority"),
    ...named(user, "client-certificate"),
    ...named(user, "client-key"),
    ...method.is === "token file" ? [method.path] : [],
    ...method.is === "OIDC issuer" && method.provider.caFile ? [method.provider.caFile] : [],
  ];
}
