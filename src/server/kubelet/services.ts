/** What the kubelet API works with. The agent provides it. */
import type { Logger } from "../../lib/log.ts";
import type { Entrance } from "../../supervisor/launcher/launcher.ts";
import type { AuthenticateToken, AuthorizeUser } from "../access.ts";
import type { ClientLimit } from "../services.ts";
import { createPaces, type Limits, type Pace } from "../spdy/spdy.ts";
import type { AgentView } from "../view.ts";
import { createStreamMemory, type StreamMemory } from "./stream-memory.ts";

export interface KubeletServices {
  view: AgentView;
  log: Logger;
  pods: PodLister;
  launcher: Entrance;
  authenticate: AuthenticateToken;
  authorize: AuthorizeUser;
  limits: ClientLimits;
  /** The streams that are open; each resolves when it is over. */
  streams: Set<Promise<void>>;
  /** Limits of a client's connection with streams that differ from the usual ones. */
  streamLimits?: Partial<Limits>;
  /** How often long streams ask for their sender's rights again, if not as usual. */
  recheckMs?: number;
}

/** How many clients may do the same at once. */
export interface ClientLimits {
  followers: ClientLimit;
  readers: ClientLimit;
  sessions: ClientLimit;
  memory: StreamMemory;
  /** How fast the frames of a holder, and of all, are handled. */
  paces: (holder: string) => readonly Pace[];
}

/** The Pods that stand for apps. */
export interface PodLister {
  /** The app that a Pod stands for. */
  appOfPod(namespace: string, pod: string): { namespace: string; name: string } | undefined;
  /** The Pod that stands for the app with this key, in the app's namespace. */
  podOf(key: string): { name: string; uid: string } | undefined;
  /** The Pods as JSON objects. */
  podList(): object[];
}

export const defaultClientLimits = (): ClientLimits => ({
  followers: { now: 0, most: 128, use: "follow a log" },
  readers: { now: 0, most: 32, use: "read a log" },
  sessions: { now: 0, most: 256, use: "use exec, attach or port-forward" },
  memory: createStreamMemory(),
  paces: createPaces(),
});
