/** The contract with the sh launcher, whose work is done by sh, setsid, setpriv and cat. */
import { createMarkerConfinement } from "../../src/supervisor/confinement/markers.ts";
import { supervisorContract } from "./contract.ts";

supervisorContract("sh", async () => createMarkerConfinement("this test uses markers"));
