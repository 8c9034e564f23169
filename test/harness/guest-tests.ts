/**
 * Runs test files inside one guest and shows their results as tests of this process.
 *
 * Files for a guest are kept in test/guest/inside/ and are not named *.test.ts, so that no runner picks them up on the host. How
 * their results come back: guest-report.ts.
 */
import { join, relative } from "node:path";
import { test, type TestContext } from "node:test";
import { compileCache } from "../../tools/test/program.ts";
import { tempFolder } from "../temp-folder.ts";
import { putGuestProgram } from "./guest-program.ts";
import { replayReport, reporterFlags } from "./guest-report.ts";
import { type GuestOptions, inGuest } from "./guest.ts";
import { checkout, skipUnlessKernel } from "./parts.ts";

/** Options of the tests. */
export type GuestTestsOptions = Omit<GuestOptions, "share" | "compileCache"> & {
  /** Whether they run the program: it is bundled, and NCKUBELET_BIN names it. */
  program?: boolean;
};

/** Registers one test that runs the files (paths from the checkout) in one guest, with a subtest per result. */
export function runTestsInGuest(files: string[], options: GuestTestsOptions = {}): void {
  const name = `in a guest: ${files.map((file) => relative(checkout, join(checkout, file))).join(", ")}`;
  test(name, { skip: skipUnlessKernel(options.features ?? []) }, (t) => replayGuest(t, files, options));
}

// A test that hangs fails by its name, before the whole guest ends at its limit.
const testTimeoutMs = 120_000;

async function replayGuest(
  t: TestContext,
  files: string[],
  { program = false, ...options }: GuestTestsOptions,
): Promise<void> {
  using temp = tempFolder();
  const share = temp.path;
  if (program) await putGuestProgram(share);
  const timeoutMs = options.timeoutMs ?? 300_000;
  const result = await inGuest(testCommand(files, program, timeoutMs), {
    ...options,
    timeoutMs,
    share,
    compileCache,
  });
  await replayReport(t, share, result);
}

function testCommand(files: string[], program: boolean, timeoutMs: number): string {
  const quoted = files.map((file) => `'${join(checkout, file)}'`).join(" ");
  // A process per file costs seconds in User-Mode Linux; a single file does not need one.
  const isolation = files.length === 1 ? "none" : "process";
  return `${showProcessesAfter(timeoutMs - 45_000)} ${
    program ? 'export NCKUBELET_BIN="$SHARE/nckubelet"; ' : ""
  }exec node --test --test-isolation=${isolation} --test-timeout=${testTimeoutMs} ${reporterFlags} ${quoted}`;
}

/** Shortly before its time limit, the guest prints what each of its processes waits for. */
function showProcessesAfter(ms: number): string {
  return `( sleep ${
    Math.round(ms / 1000)
  }; echo 'the guest hangs; its processes:'; cd /proc; for pid in [0-9]*; do
      words=$(tr '\\0' ' ' < $pid/cmdline | cut -c 1-200); [ -z "$words" ] ||
        echo "$(cut -c 1-50 < $pid/stat) in $(cat $pid/wchan): $words"
    done 2>/dev/null ) & disown;`;
}
