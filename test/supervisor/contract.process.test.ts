import { createMarkerConfinement } from "../../src/supervisor/confinement/confinement.ts";
import { supervisorContract } from "./contract.ts";

supervisorContract(async () => createMarkerConfinement("this test uses markers"));
