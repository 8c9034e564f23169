import { testInstallation } from "../harness/installation.ts";

testInstallation(
  "a bare Debian is installed on, upgraded, rolled back, rebooted and left as it was",
  "systemd",
  [
    "install.ts",
    "install-after-reboot.ts",
  ],
);
