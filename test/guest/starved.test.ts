import { runTestsInGuest } from "../harness/guest-tests.ts";

runTestsInGuest(["test/chaos/storm/inside/starved.ts"], { program: true, timeoutMs: 400_000 });
