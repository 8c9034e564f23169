import { shareFilter } from "./share.ts";

/** The caps on memory of all apps of a node add up to no more than 100 less its reserve. */
export const memory = shareFilter(
  "memPCT",
  (app) => app.mem,
  (node) => node.freeMem,
);
