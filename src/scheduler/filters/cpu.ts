import { shareFilter } from "./share.ts";

/** The caps on CPU of all apps of a node add up to no more than 100 less its reserve. */
export const cpu = shareFilter(
  "cpuPCT",
  (app) => app.cpu,
  (node) => node.freeCpu,
);
