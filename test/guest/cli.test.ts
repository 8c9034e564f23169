import { runTestsInGuest } from "../harness/guest-tests.ts";

runTestsInGuest(["test/guest/inside/cli.ts"], { timeoutMs: 200_000 });
