// Apart from supervisor.test.ts, so that the two guests can run at the same time.
import { runTestsInGuest } from "../harness/guest-tests.ts";

runTestsInGuest(["test/guest/inside/supervisor-sh.ts"], { timeoutMs: 300_000 });
