/** Opens the listener of the kubelet API. Loaded when the agent owns its Node: agents without an API server do not need it. */
import type { KubeClient } from "../../kube/client/client.ts";
import { readNodeFacts } from "../../node/facts.ts";
import {
  createKubeletApp,
  createUpgrades,
  defaultPlaces,
  type PodBook,
} from "../../server/kubelet/kubelet.ts";
import { createClientAuthority } from "../../server/listen/client-authority.ts";
import { readKeyPair } from "../../server/listen/key-pair.ts";
import { listenForKubelet } from "../../server/listen/kubelet-listener.ts";
import { keepOpen, type PortProblems } from "../../server/listen/listen.ts";
import { readSelfSigned } from "../../server/listen/self-signed.ts";
import { createAuthentication, createAuthorization } from "../../server/listen/token-review.ts";
import type { AgentView } from "../../server/view.ts";
import type { Entrance } from "../../supervisor/launcher/launcher.ts";
import { runFolder } from "../../supervisor/layout.ts";
import type { Supervisor } from "../../supervisor/supervisor.ts";
import { appKey } from "../../api/names.ts";
import type { AgentOptions } from "../options.ts";

export interface KubeletParts {
  client: KubeClient;
  view: AgentView;
  supervisor: Pick<Supervisor, "get">;
  launcher: Entrance;
  ports: PortProblems;
  /** The Pods that stand for apps. */
  pods: PodBook;
}

/** Opens the listener, now or when its port is free. */
export async function openKubelet(
  options: AgentOptions,
  { client, view, supervisor, launcher, ports, pods }: KubeletParts,
  onPort: (port: number) => void,
): Promise<{ close(): Promise<void> }> {
  const { kubeletListen: address = "", nodeName: node, stateDir, logDir, log } = options;
  const { tlsCertFile: certFile, tlsKeyFile: keyFile } = options;
  const app = createKubeletApp({
    view,
    log,
    pods,
    launcher,
    runOf(namespace, name) {
      const record = supervisor.get(appKey(namespace, name))?.record;
      const { run } = record ?? {};
      if (!run || record?.phase !== "Running") return undefined;
      return { id: run.id, folder: runFolder({ stateDir, logDir }, run.id) };
    },
    authenticate: createAuthentication({ client, node, log }),
    authorize: createAuthorization({ client, node, log }),
    places: defaultPlaces(),
  });
  const upgrades = createUpgrades(app, log);
  const selfSigned = async () => {
    const { hostname, addresses } = await readNodeFacts();
    const names = [...new Set([node, hostname.toLowerCase(), ...addresses])];
    return await readSelfSigned({ folder: stateDir, node, names });
  };
  const open = async () => {
    const listener = await listenForKubelet(app, address, {
      readPair: certFile && keyFile ? () => readKeyPair({ certFile, keyFile }) : selfSigned,
      readAuthority: createClientAuthority({ file: options.clientCAFile, client, log }),
      upgrades,
      log,
    });
    onPort(listener.port);
    return listener;
  };
  const onOpen = (url: string) => log.info("serving the kubelet API", { address: url });
  // Its close ends commands, too: nobody could read them any more.
  return await keepOpen(address, open, { log, problems: ports, onOpen });
}
