import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { after, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { guestKind, inGuest } from "../harness/guest.ts";
import { runTestsInGuest } from "../harness/guest-tests.ts";
import { checkout, findGuest, skipUnless } from "../harness/parts.ts";
import { machineId } from "../harness/kernels.ts";
import { processesNaming, waitUntilNoProcess } from "../harness/processes.ts";
import { tryKernel } from "../harness/try-kernels.ts";
import { bootUserModeLinux } from "../harness/user-mode-linux.ts";
import { tempFolder } from "../temp-folder.ts";

const skip = skipUnless("guest");
const notUml = skip || (guestKind() === "direct" && "this machine runs guest scripts directly");

// Its name is in the command line of every process of a guest, and all files of a guest are in it.
const temp = tempFolder({ after }).path;
process.env.TMPDIR = temp;

runTestsInGuest(["test/guest/inside/harness.ts"]);

describe("inGuest()", { skip }, () => {
  test("returns another code, all of a long output, and files written to the share", async () => {
    const share = await mkdtemp(join(temp, "share-"));
    const script = 'seq 200000; echo "$GREETING" >"$SHARE/file"; sleep 600 & exit 7';
    const result = await inGuest(script, { share, env: { GREETING: `it's "me"` } });
    assert.equal(result.code, 7);
    assert.equal(result.output, Array.from({ length: 200_000 }, (_, index) => `${index + 1}\n`).join(""));
    assert.equal(await readFile(join(share, "file"), "utf8"), `it's "me"\n`);
    await rm(share, { recursive: true });
  });

  test(
    "kills a hung script at the time limit and leaves no process and no file",
    { skip: notUml },
    async () => {
      const result = await untilBegun(
        (timeoutMs) => inGuest("echo begun; sleep 600 & sleep 600", { timeoutMs }),
        ({ output }) => output !== "",
      );
      assert.deepEqual(result, { code: 124, output: "begun\n", timedOut: true });
      assert.deepEqual(await processesNaming(temp), []);
      assert.deepEqual(await readdir(temp), []);
    },
  );

  test("keeps what a guest writes in the guest", { skip: notUml }, async () => {
    const paths = [join(checkout, "written-in-a-guest"), "/etc/written-in-a-guest"];
    const { code } = await inGuest(`touch ${paths.join(" ")} && ls ${paths.join(" ")}`);
    assert.equal(code, 0);
    for (const path of paths) assert.ok(!existsSync(path), path);
  });

  test("ends the guest when the test process is killed", { skip: notUml }, async () => {
    const file = fileURLToPath(new URL("../harness/fixtures/hang-in-guest.ts", import.meta.url));
    const share = await mkdtemp(join(temp, "share-"));
    const holder = spawn(process.execPath, [file, share], { stdio: "ignore" });
    while (!existsSync(join(share, "begun")) && holder.exitCode === null) await sleep(20);
    assert.notEqual((await processesNaming(`${temp}/nckubelet-test-`)).length, 0);
    holder.kill("SIGKILL");
    await waitUntilNoProcess(`${temp}/nckubelet-test-`);
  });
});

describe("a guest that dies", { skip: notUml }, () => {
  const boot = async (init: string, options: { linux?: string; silenceMs?: number }) => {
    const guest = findGuest();
    if (!("kernel" in guest)) throw new Error("no kernel");
    const { linux = guest.kernel.linux, silenceMs } = options;
    const kernel = { ...guest.kernel, linux };
    return bootUserModeLinux({
      kernel,
      root: { folder: "/" },
      init,
      memory: "256M",
      timeoutMs: 110_000,
      silenceMs,
    });
  };

  test("fails at once when its kernel panics, with the panic and its last lines", async () => {
    await assert.rejects(
      boot("/no/such/init", {}),
      /^Error: the guest panicked: Kernel panic - not syncing: Requested init \/no\/such\/init failed .*; its last lines:\n[^]*Call Trace/,
    );
    assert.deepEqual(await processesNaming(temp), []);
  });

  test("fails when a running kernel says nothing any more", async () => {
    const init = join(temp, "silent-init");
    await writeFile(init, "#!/bin/sh\necho now it sleeps >/dev/console\nexec sleep 600\n", { mode: 0o755 });
    const error = await untilBegun(
      (silenceMs) => boot(init, { silenceMs }).then(() => undefined, (error: Error) => error),
      (error) => error?.message.includes("now it sleeps") ?? true,
    );
    assert.match(
      String(error),
      /^Error: the guest hangs: it said nothing for \d+ s; its last lines:\n[^]*now it sleeps/,
    );
    await rm(init);
    assert.deepEqual(await processesNaming(temp), []);
  });

  test("fails when its kernel never says anything", async () => {
    const linux = join(temp, "hanging-kernel");
    await writeFile(linux, "#!/bin/sh\nexec sleep 600\n", { mode: 0o755 });
    await assert.rejects(
      boot("/init", { linux, silenceMs: 500 }),
      /^Error: the guest hangs: it said nothing for 0.5 s; its last lines:/,
    );
    await rm(linux);
    assert.deepEqual(await processesNaming(temp), []);
  });

  test("is the verdict on a kernel that is tried", async () => {
    const linux = join(temp, "panicking-kernel");
    await writeFile(linux, "#!/bin/sh\necho 'Kernel panic - not syncing: on purpose'; kill -ABRT $$\n", {
      mode: 0o755,
    });
    const verdict = await tryKernel({ version: "1.0", linux, modules: temp, parameters: [], folder: temp });
    assert.deepEqual(verdict, {
      machine: machineId(temp),
      parameters: [],
      features: [],
      problem: "the guest panicked: Kernel panic - not syncing: on purpose",
    });
    await rm(linux);
  });
});

describe("runTestsInGuest()", () => {
  test("shows the tests of a guest with their names, skip reasons and failures", { skip }, async () => {
    const file = fileURLToPath(new URL("../harness/fixtures/run-failing.ts", import.meta.url));
    const output = await run(["--test", "--test-reporter=tap", file]);
    for (const line of [/ok \d - passes/, /ok \d - is left out # SKIP not today/, /not ok \d - fails/]) {
      assert.match(output, line);
    }
    assert.match(output, /'seen' !== 'wanted'/);
    assert.match(output, /# fail 3\n/); // the test, its group, and the guest's own
  });
});

describe("skipUnless()", () => {
  const nothing = { PATH: "/nowhere", HOME: "/nowhere", KUBEBUILDER_ASSETS: "/nowhere" };

  test("reports what is missing and what to do", () => {
    assert.match(
      String(skipUnless("control-plane", nothing)),
      /no kube-apiserver in \/nowhere; run .*install-parts.sh/,
    );
  });

  test("throws under CI=true, so that nothing is skipped there", () => {
    assert.throws(
      () => skipUnless("control-plane", { ...nothing, CI: "true" }),
      /CI=true.*no kube-apiserver/,
    );
  });

  test("names the machine that cannot run guests directly", { skip: notUml }, () => {
    assert.match(JSON.stringify(findGuest({ NCKUBELET_GUEST: "direct" })), /no delegated cgroup v2/);
  });
});

/** Runs a guest with a limit that may be too short to boot on a busy machine: with a longer one, until it has begun. */
async function untilBegun<T>(
  runGuest: (limitMs: number) => Promise<T>,
  hasBegun: (result: T) => boolean,
): Promise<T> {
  for (let limitMs = 4000;; limitMs *= 2) {
    const result = await runGuest(limitMs);
    if (hasBegun(result) || limitMs > 60_000) return result;
  }
}

function run(args: string[]): Promise<string> {
  // Node refuses to run tests in a process that looks like a test's child.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const child = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "inherit"] });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text) => output += text);
  return new Promise((resolve) => child.on("close", () => resolve(output)));
}
