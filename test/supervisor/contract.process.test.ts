/** Its own file, so that the two longest of the suite run side by side. */
import { createMarkerConfinement } from "../../src/supervisor/confinement/markers.ts";
import { launcherKinds } from "../harness/launcher.ts";
import { supervisorContract } from "./contract.ts";

for (const kind of launcherKinds) {
  supervisorContract(kind, async () => createMarkerConfinement("this test uses markers"));
}
