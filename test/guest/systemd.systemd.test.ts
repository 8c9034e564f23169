import { runTestsInSystemdGuest } from "../harness/systemd-guest-tests.ts";

runTestsInSystemdGuest(
  "under real systemd apps live in a scope of their own, and do not notice what happens to the agent",
  ["test/guest/inside/cgroups-systemd.ts", "test/guest/inside/agent-systemd.ts"],
);
