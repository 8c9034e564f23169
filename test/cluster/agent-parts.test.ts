/**
 * Parts of an agent at one real API server, as users with the shipped roles and no more: its Node, its mirrors, its reports, its watch.
 * They run one after the other, so that they need one control plane. Each leaves only objects that the next ones do not touch.
 */
import { after, before, describe } from "node:test";
import { agentGroup, agentUser } from "../../src/api/names.ts";
import type { Cluster } from "../harness/cluster.ts";
import { startControlPlane } from "../harness/control-plane.ts";
import { installCRD } from "../harness/install-crd.ts";
import { skipUnless } from "../harness/parts.ts";
import { testMirrors } from "./mirrors.ts";
import { testNode } from "./node.ts";
import { testReports } from "./report.ts";
import { testWatchLoad } from "./watch-load.ts";

const nodes = ["node-1", "node-2", "node-3", "node-4", "node-a"];

describe("parts of an agent", { skip: skipUnless("control-plane"), timeout: 300_000 }, () => {
  let cluster: Cluster;

  before(async () => {
    const users = nodes.map((node) => ({ name: agentUser(node), groups: [agentGroup] }));
    cluster = await startControlPlane({ users });
    await installCRD(cluster);
  });
  after(() => cluster?.stop());

  const shared = () => cluster;
  describe("the node at a real API server", () => testNode(shared));
  describe("mirrors at a real API server", () => testMirrors(shared));
  describe("reports to a real API server", () => testReports(shared));
  describe("the load of an agent", () => testWatchLoad(shared));
});
