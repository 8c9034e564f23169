import { runTestsInGuest } from "../harness/guest-tests.ts";

runTestsInGuest(["test/guest/inside/cli.ts"], { program: true, timeoutMs: 200_000 });
