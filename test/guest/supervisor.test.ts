import { runTestsInGuest } from "../harness/guest-tests.ts";

runTestsInGuest(["test/guest/inside/supervisor.ts"], { timeoutMs: 300_000 });
