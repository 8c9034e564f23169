import { testInstallation } from "../harness/installation.ts";

testInstallation(
  "install.sh installs on a bare Debian with OpenRC, upgrades, rolls back, survives a reboot and uninstalls without a trace",
  "openrc",
  ["install-openrc.ts", "install-after-reboot.ts"],
);
