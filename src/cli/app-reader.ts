/** Where commands read apps: the agent of this node (node-apps.ts), or the API server (plugin/cluster-apps.ts). */
import type { LogOptions, NodeApp } from "./agent-api/agent-api.ts";
import type { AppName } from "./app-name.ts";
import type { Flag, Invocation, Io } from "./command.ts";
import type { Scope } from "./screen/screen.ts";

export interface AppOrigin {
  /** What the user types before the command. */
  program: string;
  /** Whether its apps are those of one node or of many. */
  scope: Scope;
  /** The flags of commands that take an APP, and of those that list apps. */
  appFlags: Record<string, Flag>;
  listFlags: Record<string, Flag>;
  /** How often top refreshes by default. */
  interval: string;
  connect(invocation: Invocation, io: Io): Promise<AppReader>;
}

export interface AppReader extends Disposable {
  /** The namespace of an APP that names none. */
  namespace?: string;
  /** Lists the apps that the flags select. */
  list(): Promise<NodeApp[]>;
  /** Printed if there are none. */
  none: string;
  get(app: AppName): Promise<NodeApp>;
  logs(app: AppName, options: LogOptions): AsyncIterable<Uint8Array>;
  /** Asks for a restart, and does not wait for it. */
  restart(app: AppName): Promise<void>;
  /** Manifests that are no apps yet, because they are invalid: rows for a table. */
  broken(): Promise<NodeApp[]>;
  /** The first lines of top. */
  heading(): Promise<string[]>;
  /** The last lines of describe. */
  events(app: NodeApp): Promise<string[]>;
}
