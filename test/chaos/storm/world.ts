/**
 * The cluster of a storm, all real processes: etcd, the API server, two controllers, three agents, and between them and the
 * server a gateway and a listener each.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { agentGroup, agentUser, schedulerGroup } from "../../../src/api/names.ts";
import type { Cluster } from "../../harness/cluster.ts";
import { startControlPlane } from "../../harness/control-plane.ts";
import { installCRD } from "../../harness/install-crd.ts";
import { Daemon } from "../../harness/daemon.ts";
import { freePort } from "../../harness/free-port.ts";
import { mountOwnRun } from "./disk.ts";
import { createHungMount, type HungMount, skipWithoutFuse } from "../../harness/hung-mount.ts";
import { createProgramClock, type ProgramClock } from "./clock.ts";
import { type Listener, openListener } from "./listener.ts";
import type { EventRing } from "./events.ts";
import { type Gateway, openGateway } from "./gateway.ts";
import { Member } from "./member.ts";
import { answers, startNode, type StormNode, writeKubeconfig } from "./node.ts";

const nodeNames = ["storm-a", "storm-b", "storm-c"];
const schedulerUser = "nckubelet-scheduler";
const schedulers = 2;

export interface StormScheduler {
  member: Member;
  listener: Listener;
  clock: ProgramClock;
}

export interface World extends AsyncDisposable {
  folder: string;
  cluster: Cluster;
  gateway: Gateway;
  apiServer: Member;
  etcd: Member;
  nodes: StormNode[];
  schedulers: StormScheduler[];
  /** A mount for apps that stops to answer; undefined if mounting is not possible. */
  mount?: HungMount;
  members: Member[];
}

export interface WorldOptions {
  folder: string;
  events: EventRing;
  /** Whether state and logs get their own small file systems. */
  ownDisks: boolean;
}

/** Starts the whole cluster; if that fails, stops what it started. */
export async function startWorld({ folder, events, ownDisks }: WorldOptions): Promise<World> {
  await using opened = new AsyncDisposableStack();
  const users = [
    ...nodeNames.map((node) => ({ name: agentUser(node), groups: [agentGroup] })),
    { name: schedulerUser, groups: [schedulerGroup] },
  ];
  if (ownDisks) await mountOwnRun();
  const cluster = await startControlPlane({ users });
  opened.defer(() => cluster.stop());
  await installCRD(cluster);
  const gateway = opened.use(await openGateway(folder, cluster));

  const mountFolder = join(folder, "mounts");
  await mkdir(mountFolder, { recursive: true });
  const mount = ownDisks && !skipWithoutFuse() ? opened.use(await createHungMount(mountFolder)) : undefined;
  const nodes: StormNode[] = [];
  for (const name of nodeNames) {
    const node = await startNode({ name, folder, cluster, gateway, events, ownDisks });
    nodes.push(node);
    opened.defer(async () =>
      void await Promise.all(Object.values(node.disks ?? {}).map((disk) => disk.unmount()))
    );
    opened.use(node.listener);
    opened.defer(() => node.agent.stop("SIGKILL"));
  }
  const running: StormScheduler[] = [];
  for (let number = 1; number <= schedulers; number++) {
    const scheduler = await startScheduler(`scheduler-${number}`, { folder, cluster, gateway, events });
    running.push(scheduler);
    opened.use(scheduler.listener);
    opened.defer(() => scheduler.member.stop("SIGKILL"));
  }
  const apiServer = new Member("API server", cluster.apiServer, events, { runs: true });
  const etcd = new Member("etcd", cluster.etcd, events, { runs: true });
  const everything = opened.move();
  return {
    folder,
    cluster,
    gateway,
    apiServer,
    etcd,
    nodes,
    schedulers: running,
    mount,
    members: [
      ...nodes.map(({ agent }) => agent),
      ...running.map(({ member }) => member),
      apiServer,
      etcd,
    ],
    [Symbol.asyncDispose]: () => everything.disposeAsync(),
  };
}

async function startScheduler(
  name: string,
  parts: { folder: string; cluster: Cluster; gateway: Gateway; events: EventRing },
): Promise<StormScheduler> {
  const { cluster, gateway, events } = parts;
  const folder = join(parts.folder, name);
  await mkdir(folder, { recursive: true });
  const listener = await openListener(gateway.port);
  const kubeconfig = await writeKubeconfig(folder, cluster.tokenFor(schedulerUser), listener, gateway);
  const clock = await createProgramClock(folder);
  const listen = `127.0.0.1:${await freePort()}`;
  const daemon = new Daemon({
    program: process.execPath,
    args: [...clock.args, "controller", "--kubeconfig", kubeconfig, "--listen", listen],
    logFile: join(folder, "scheduler.log"),
    isReady: () => answers(`http://${listen}/healthz`),
    startTimeoutMs: 60_000,
  });
  const member = new Member(name, daemon, events);
  await member.start();
  return { member, listener, clock };
}
