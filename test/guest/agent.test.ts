import { runTestsInGuest } from "../harness/guest-tests.ts";

runTestsInGuest(["test/guest/inside/agent.ts"], { program: true, timeoutMs: 400_000 });
