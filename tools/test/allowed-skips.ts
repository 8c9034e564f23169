/**
 * The tests that may be skipped with CI=true, by a part of their name or skip reason, each with a justification. Every other
 * skip fails there, so that no suite turns green by skipping itself.
 */
const allowedSkips: Record<string, string> = {
  "what is served is what the page's files say": "runs on Node; esbuild's package does not run on Deno",
  "the bundle is ASCII": "runs on Node; esbuild's package does not run on Deno",
  "memory that was freed between parts in use goes back to the system":
    "runs on Node, which can call malloc_trim",
  "a disk that hangs holds nobody up": "runs on Node, which opens a pipe on another thread than the rest",
  "useDirectFiles() reaches modules that were loaded before": "runs on Node, as the fuzzer does",
  "the socket of another user is an error that says what to do": "CI runs as root, who may open every socket",
  "another user of the machine gets nothing through the socket":
    "runs on Node, whose binary another user can run",
  "an app has the usual limit of open files":
    "needs the right to raise limits; the guest suite has it and runs it too",
  "this machine has no /dev/fuse for us": "needs root and a kernel with FUSE",
  "has no admission policies":
    "the API server is older than 1.30; the tests run on a current one too, where it is at hand",
  "has no CEL rules":
    "the API server is older than 1.25; the tests run on a current one too, where it is at hand",
  "has no Pod Security":
    "the API server is older than 1.25; the tests run on a current one too, where it is at hand",
  "does not say whose a credential is":
    "the API server is older than 1.28; the tests run on a current one too, where it is at hand",
  "has no selectable fields":
    "the API server is older than 1.31; the tests run on a current one too, where it is at hand",
  "does not stream lists":
    "the API server is older than 1.34; the tests run on a current one too, where it is at hand",
  "no Helm here": "no package of Debian has it; the chart is rendered where HELM names it",
  "the chart is for API servers 1.31 and later": "the tests run on a current one too, where it is at hand",
  "this machine is not hybrid": "the guest suite tests a hybrid hierarchy",
  "no User-Mode Linux with cgroup-v1-memory":
    "only Linux 6.1 has it, which does not boot on every CPU; the hybrid hierarchy is tested where it does",
  "needs Debian's package":
    "runs where the servers of examples/services are installed; CI does not install hundreds of megabytes of them",
  "needs its own kernel": "runs in User-Mode Linux; this machine has a delegated cgroup v2 hierarchy",
  "this machine runs guest scripts directly":
    "runs in User-Mode Linux; this machine has a delegated cgroup v2 hierarchy",
};

/** Reports whether a test with this name (and reason) may be skipped with CI=true. */
export function maySkip(name: string): boolean {
  return whyAllowed(name) !== undefined;
}

/** Returns why such a test may be skipped; undefined if it may not. */
export function whyAllowed(name: string): string | undefined {
  return Object.entries(allowedSkips).find(([text]) => name.includes(text))?.[1];
}
