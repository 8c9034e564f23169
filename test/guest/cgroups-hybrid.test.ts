import { runTestsInGuest } from "../harness/guest-tests.ts";

runTestsInGuest(["test/guest/inside/cgroups-hybrid.ts"], { features: ["cgroup-v1-memory"] });
