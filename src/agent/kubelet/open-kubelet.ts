/** Opens the listener of the kubelet API. Loaded when the agent owns its Node: agents without an API server do not need it. */
import type { KubeClient } from "../../kube/client/client.ts";
import {
  createKubeletApp,
  defaultClientLimits,
  type KubeletServices,
  type PodLister,
  waitForStreams,
} from "../../server/kubelet/kubelet.ts";
import { createClientAuthority } from "../../server/listen/client-authority.ts";
import { type KeyPair, listenWithTLS, openWithRetry, type PortProblems } from "../../server/listen/listen.ts";
import { createAuthentication, createAuthorization } from "../../server/listen/token-review.ts";
import type { CredentialTimes } from "../../server/credential-times.ts";
import type { AgentView } from "../../server/view.ts";
import type { Entrance } from "../../supervisor/launcher/launcher.ts";
import type { AgentOptions } from "../options.ts";

export interface KubeletParts {
  client: KubeClient;
  view: AgentView;
  launcher: Entrance;
  ports: PortProblems;
  /** The Pods that stand for apps. */
  pods: PodLister;
  /** The certificate to serve with; it may change. */
  readPair(): Promise<KeyPair>;
  credentials: CredentialTimes;
}

/** As many connections as all limits allow. A pager that shows a followed log may stop reading it for a while. */
export const kubeletBounds = { connections: 512, reserved: 128, perPeer: 256, stalledMs: 600_000 };

/** Opens the listener, now or when its port is free. */
export async function openKubelet(
  options: AgentOptions,
  { client, view, launcher, ports, pods, readPair, credentials }: KubeletParts,
  onPort: (port: number) => void,
): Promise<{ close(): Promise<void> }> {
  const { kubeletListen: address = "", nodeName: node, log } = options;
  const services: KubeletServices = {
    view,
    log,
    pods,
    launcher,
    authenticate: createAuthentication({ client, node, log }),
    authorize: createAuthorization({ client, node, log }),
    limits: defaultClientLimits(),
    streams: new Set(),
  };
  const app = createKubeletApp(services);
  const open = async () => {
    const listener = await listenWithTLS(app, address, {
      flag: "--kubelet-listen",
      readPair,
      readAuthority: createClientAuthority({ file: options.clientCAFile, client, log }),
      onUse({ cert, ca }) {
        credentials.note("kubelet-certificate", cert);
        credentials.note("kubelet-client-ca", ca === undefined ? undefined : String(ca));
      },
      upgrades: true,
      log,
      bounds: kubeletBounds,
      rereadMs: 30_000,
      reloads: options.reloads,
    });
    onPort(listener.port);
    return {
      address: listener.address,
      // Commands end with their connections: nobody could read them any more.
      close: async () => {
        await listener.close();
        await waitForStreams(services);
      },
    };
  };
  const onOpen = (url: string) => log.info("serving the kubelet API", { address: url });
  return await openWithRetry(address, open, { log, problems: ports, onOpen });
}
