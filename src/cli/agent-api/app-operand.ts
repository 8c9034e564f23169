import { appKey, defaultNamespace, isSafeName, isSafeNamespace } from "../../api/names.ts";
import { type Invocation, textFlag, UsageError } from "../command.ts";

/** An app as named on the command line. */
export interface AppName {
  namespace: string;
  name: string;
}

/** The one APP of a command: `name`, `namespace/name`, or `-n namespace name`. `otherwise` is the namespace of one that names none. */
export function oneApp(invocation: Invocation, otherwise?: string): AppName {
  const [app, extra] = manyApps(invocation, otherwise);
  if (extra) throw new UsageError(`one app at a time, not also ${JSON.stringify(invocation.args[1])}`);
  return app!;
}

/** All APPs of a command, at least one. */
export function manyApps(invocation: Invocation, otherwise?: string): AppName[] {
  if (invocation.args.length === 0) throw new UsageError("no app is named; 'nckubelet ps' lists them");
  return invocation.args.map((word) => parseAppName(word, textFlag(invocation, "namespace"), otherwise));
}

/** Takes an APP apart. */
export function parseAppName(word: string, namespaceFlag?: string, otherwise = defaultNamespace): AppName {
  const slash = word.indexOf("/");
  const namespace = slash < 0 ? namespaceFlag ?? otherwise : word.slice(0, slash);
  const name = word.slice(slash + 1);
  if (!isSafeName(name) || !isSafeNamespace(namespace)) {
    throw new UsageError(`${JSON.stringify(word)} is not an app: use NAME or NAMESPACE/NAME`);
  }
  if (slash >= 0 && namespaceFlag !== undefined && namespaceFlag !== namespace) {
    throw new UsageError(`${word} is not in the namespace ${namespaceFlag} that --namespace says`);
  }
  return { namespace, name };
}

/** As people type it: without the namespace where that is the default. */
export function shortName({ namespace, name }: AppName): string {
  return namespace === defaultNamespace ? name : appKey(namespace, name);
}
