import { testInstallation } from "../harness/installation.ts";

testInstallation(
  "a bare Debian with OpenRC is installed on, upgraded, rolled back, rebooted and left as it was",
  "openrc",
  ["install-openrc.ts", "install-openrc-after-reboot.ts"],
);
