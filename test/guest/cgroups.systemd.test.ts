import { runTestsInSystemdGuest } from "../harness/systemd-guest-tests.ts";

runTestsInSystemdGuest("under real systemd apps live in a scope of their own", [
  "test/guest/inside/cgroups-systemd.ts",
]);
