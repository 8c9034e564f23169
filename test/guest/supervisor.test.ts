import { builtLauncher } from "../harness/launcher.ts";
import { runTestsInGuest } from "../harness/guest-tests.ts";

await builtLauncher();
runTestsInGuest(["test/guest/inside/supervisor.ts"], { timeoutMs: 300_000 });
