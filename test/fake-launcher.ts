import type { Launcher } from "../src/supervisor/launcher/launcher.ts";

/** A launcher that starts nothing, and enters runs without changing anything. */
export const fakeLauncher: Launcher = {
  state: { kind: "none", message: "it starts nothing" },
  start: () => Promise.resolve(),
  enterCommand: (_context, command) => command,
  copyCommand: () => undefined,
  close() {},
};
