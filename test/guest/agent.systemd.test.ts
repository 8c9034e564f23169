import { runTestsInSystemdGuest } from "../harness/systemd-guest-tests.ts";

runTestsInSystemdGuest("under real systemd apps do not notice what happens to the agent", [
  "test/guest/inside/agent-systemd.ts",
]);
