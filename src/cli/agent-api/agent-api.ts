/** How commands talk to the agent of this node: over its unix socket, about apps that the user names. */
export {
  type AgentClient,
  type AgentStatus,
  appFlags,
  connectAgent,
  createAgentClient,
  socketFlag,
} from "./agent-client.ts";
export { type AppName, manyApps, oneApp, shortName } from "./app-operand.ts";
export { type LogChoice, logPath } from "./app-path.ts";
export {
  describeState,
  hasEnded,
  isSettled,
  isStopped,
  stopTimeoutMs,
  waitForApp,
  waitForNewRun,
} from "./app-state.ts";
export { followAppLog } from "./followed-log.ts";
export { nameOf, type NodeApp } from "./node-app.ts";
