import type { NCApp } from "../../api/types.ts";
import type { AppName } from "./app-operand.ts";

/** An app as the agent shows it: the NCApp, and what only its node knows. */
export type NodeApp = NCApp & {
  agent?: {
    source?: string;
    origin?: string;
    logFile?: string;
  };
};

/** The name of an app that was read. */
export function nameOf({ metadata }: NCApp): AppName {
  return { namespace: metadata.namespace ?? "", name: metadata.name };
}
