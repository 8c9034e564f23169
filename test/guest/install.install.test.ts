import { testInstallation } from "../harness/installation.ts";

testInstallation(
  "install.sh installs on a bare Debian, upgrades, rolls back, survives a reboot and uninstalls without a trace",
  "systemd",
  [
    "install.ts",
    "install-after-reboot.ts",
  ],
);
