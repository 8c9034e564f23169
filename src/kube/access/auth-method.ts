/** How the user of a kubeconfig authenticates, decided from its entry alone. Pure. */
import { type ExecPlugin, readExecPlugin } from "./exec-credential.ts";
import { type Fields, isFields, type KubeconfigEntry } from "./kubeconfig-files.ts";
import { type OidcProvider, readOidcProvider } from "./oidc.ts";
import { bootstrapKind, isBootstrapToken } from "./resolution.ts";

/** A client certificate may be used beside it. `name` says which, for users, without a secret. */
export type AuthMethod =
  | { is: "exec plugin"; name: string; plugin: ExecPlugin }
  | { is: "OIDC issuer"; name: string; provider: OidcProvider }
  /** `fields` is all that client-node gets to know of the user, beside its certificate. */
  | {
    is: "token file" | "token" | "bootstrap token" | "basic auth" | "auth-provider" | "anonymous";
    name?: string;
    fields: Fields;
  };

/** A token file overrides a token, a token overrides basic auth, and all of them override a plugin, as in kubectl. */
export function chooseMethod(user: KubeconfigEntry): AuthMethod {
  const { tokenFile, token, username, password, exec, "auth-provider": provider } = user.fields;
  checkPair(user);
  if (tokenFile) {
    // client-node does not know the field, but has this for service accounts.
    const fields = { "auth-provider": { name: "tokenFile", config: { tokenFile } } };
    return { is: "token file", name: String(tokenFile), fields };
  }
  if (token) return { is: isBootstrapToken(String(token)) ? bootstrapKind : "token", fields: { token } };
  if (username) return { is: "basic auth", fields: { username, password: password ?? "" } };
  if (exec) {
    const plugin = readExecPlugin(exec, user);
    return { is: "exec plugin", name: plugin.command, plugin };
  }
  if (!provider) return { is: "anonymous", fields: {} };
  const name = isFields(provider) ? String(provider.name) : "";
  if (name === "oidc") {
    const oidc = readOidcProvider(provider, user);
    return { is: "OIDC issuer", name: oidc.issuer, provider: oidc };
  }
  // client-node would ignore any other name and send requests without a credential.
  if (name === "gcp" || name === "azure") {
    return { is: "auth-provider", name, fields: { "auth-provider": provider } };
  }
  throw new Error(`${user.at}: auth-provider ${JSON.stringify(name)} is not supported`);
}

function checkPair({ fields, at }: KubeconfigEntry): void {
  const names = ["client-certificate", "client-key"];
  const [cert, key] = names.map((name) => Boolean(fields[name] || fields[`${name}-data`]));
  if (cert === key) return;
  throw new Error(`${at} has ${names[cert ? 0 : 1]} but no ${names[cert ? 1 : 0]}`);
}

/** Names the method for users, without its secrets. */
export function describeMethod({ fields }: KubeconfigEntry, { is, name }: AuthMethod): string {
  const certificate = fields["client-certificate"] || fields["client-certificate-data"];
  const method = name === undefined ? is : `${is} ${name}`;
  const parts = certificate ? ["client certificate", ...(is === "anonymous" ? [] : [method])] : [method];
  return parts.join(" and ") + (fields.as ? `, as ${fields.as}` : "");
}

/** Returns the files that the entries name and that are used. */
export function referencedFiles(
  cluster: KubeconfigEntry,
  user: KubeconfigEntry,
  method: AuthMethod,
): string[] {
  const files = [
    cluster.fields["certificate-authority"],
    user.fields["client-certificate"],
    user.fields["client-key"],
    method.is === "token file" && method.name,
    method.is === "OIDC issuer" && method.provider.caFile,
  ];
  return files.filter(Boolean) as string[];
}
