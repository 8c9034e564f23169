import { runTestsInGuest } from "../harness/guest-tests.ts";

runTestsInGuest(["test/guest/inside/cgroups-memory.ts"], { memory: "1536M" });
