/** The contract of the supervisor with cgroups and the sh launcher; supervisor.ts has the native one. */
import { supervisorContract } from "../../supervisor/contract.ts";
import { confineBelow } from "./confine-below.ts";

// Of its own file, so that the two guests can run at the same time.
supervisorContract("sh", () => confineBelow("supervisor-sh-test"));
