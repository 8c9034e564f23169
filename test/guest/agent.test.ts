import { runTestsInGuest } from "../harness/guest-tests.ts";

runTestsInGuest(["test/guest/inside/agent.ts"], { timeoutMs: 400_000 });
