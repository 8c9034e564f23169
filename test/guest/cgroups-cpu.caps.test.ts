import { runTestsInGuest } from "../harness/guest-tests.ts";

runTestsInGuest(["test/guest/inside/cgroups-cpu.ts"], { timeoutMs: 600_000 });
