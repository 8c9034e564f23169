/** Where an agent's HTTP endpoint has an app. */
import type { AppName } from "./app-operand.ts";

export interface LogChoice {
  tailLines?: number;
  follow?: boolean;
}

/** The path of an app. */
export function appPath({ namespace, name }: AppName): string {
  return `/apps/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
}

/** The path of an app's log, with what is wanted of it. */
export function logPath(app: AppName, { tailLines, follow = false }: LogChoice): string {
  const query = new URLSearchParams({
    ...(tailLines === undefined ? {} : { tailLines: String(tailLines) }),
    ...(follow ? { follow: "true" } : {}),
  });
  return `${appPath(app)}/logs?${query}`;
}
