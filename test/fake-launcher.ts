import type { Launcher } from "../src/supervisor/launcher/launcher.ts";

/** A launcher that starts nothing, enters runs without changing anything, and sees a script everywhere. */
export const fakeLauncher: Launcher = {
  state: { kind: "none", message: "it starts nothing" },
  start: () => Promise.resolve(),
  enterCommand: (_context, command) => command,
  copyCommand: () => undefined,
  look: () =>
    Promise.resolve({ kind: "file", executable: true, head: new TextEncoder().encode("#!/bin/sh\n") }),
  read: () => Promise.resolve(),
  close() {},
};
