/** The contract with the native launcher. A file per launcher, so that the longest of the suite run side by side. */
import { createMarkerConfinement } from "../../src/supervisor/confinement/markers.ts";
import { supervisorContract } from "./contract.ts";

supervisorContract("native", async () => createMarkerConfinement("this test uses markers"));
