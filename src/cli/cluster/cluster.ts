/** How commands talk to the cluster: over a kubeconfig, over a CA that is pinned by its digest, or to the agent of another node. */
export { fetchPublishedCa, isPin, pinnedCertificates } from "./ca-pin.ts";
export { type ClusterConnection, connectCluster, readServerVersion } from "./connect.ts";
export { kubectlConfig } from "./kubectl-config.ts";
export { endpointAddresses, type NodeEndpoint, streamFromNode } from "./node-endpoint.ts";
