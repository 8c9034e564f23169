import { appKey, defaultNamespace, isSafeName, isSafeNamespace } from "../api/names.ts";
import type { NCApp } from "../api/types.ts";
import { type Invocation, textFlag, UsageError } from "./command.ts";

export interface AppName {
  namespace: string;
  name: string;
}

export function nameOf({ metadata }: NCApp): AppName {
  return { namespace: metadata.namespace ?? "", name: metadata.name };
}

/** Returns the only APP of a command: `name`, `namespace/name` or `-n namespace name`. `standard` is the default namespace. */
export function oneApp(invocation: Invocation, standard?: string): AppName {
  const [app, extra] = manyApps(invocation, standard);
  if (extra) throw new UsageError(`takes one app, not also ${JSON.stringify(invocation.args[1])}`);
  return app!;
}

/** Returns all APPs of a command, at least one. */
export function manyApps(invocation: Invocation, standard?: string): AppName[] {
  if (invocation.args.length === 0) throw new UsageError("no app is named; the command ps lists all apps");
  return invocation.args.map((word) => parseAppName(word, textFlag(invocation, "namespace"), standard));
}

/** `what` the word names, in the error. */
export function parseAppName(
  word: string,
  namespaceFlag?: string,
  standard = defaultNamespace,
  what = "an app",
): AppName {
  const slash = word.indexOf("/");
  const namespace = slash < 0 ? namespaceFlag ?? standard : word.slice(0, slash);
  const name = word.slice(slash + 1);
  if (!isSafeName(name) || !isSafeNamespace(namespace)) {
    throw new UsageError(`${JSON.stringify(word)} is not the name of ${what}: use NAME or NAMESPACE/NAME`);
  }
  if (slash >= 0 && namespaceFlag !== undefined && namespaceFlag !== namespace) {
    throw new UsageError(`${word} is not in the namespace ${namespaceFlag} of --namespace`);
  }
  return { namespace, name };
}

/** The name with its namespace: `shop/web`. */
export function fullName({ namespace, name }: AppName): string {
  return appKey(namespace, name);
}

/** The name as users type it: without the default namespace. */
export function shortName({ namespace, name }: AppName): string {
  return namespace === defaultNamespace ? name : fullName({ namespace, name });
}
