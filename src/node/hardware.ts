/**
 * The machine's manufacturer, model and processor, from systeminformation, which runs programs and keeps 4 MB of memory for good
 * (docs/decisions/0006). So the agent uses a child process for this once; short-lived commands call it directly.
 */
import { execFile } from "node:child_process";
import type * as systeminformation from "systeminformation";

export interface Hardware {
  manufacturer: string;
  model: string;
  cpu: string;
}

export async function readHardware(): Promise<Hardware> {
  // Not its index: the other files would triple its share of the bundle, which stays in memory. package.json pins the version.
  const [systemFile, cpuFile] = await Promise.all([
    import("systeminformation/lib/system.js"),
    import("systeminformation/lib/cpu.js"),
  ]);
  const [system, cpu] = await Promise.all([
    (systemFile.default as typeof systeminformation).system(),
    (cpuFile.default as typeof systeminformation).cpu(),
  ]);
  return {
    manufacturer: system.manufacturer.trim(),
    model: system.model.trim(),
    cpu: `${cpu.manufacturer} ${cpu.brand}`.trim(),
  };
}

/** Runs a program that prints the result of `readHardware` as JSON; it is killed after its timeout or when the signal aborts. */
export function readHardwareInChild(
  [program = "", ...args]: string[],
  { timeoutMs = 20_000, signal }: { timeoutMs?: number; signal?: AbortSignal } = {},
): Promise<Hardware> {
  return new Promise((resolve, reject) => {
    const options = { timeout: timeoutMs, maxBuffer: 1 << 16, killSignal: "SIGKILL", signal } as const;
    const child = execFile(program, args, options, (cause, stdout) => {
      try {
        if (cause) throw cause;
        resolve(JSON.parse(stdout));
      } catch (cause) {
        const why = (cause as Error).message;
        reject(
          new Error(`cannot read the hardware with ${[program, ...args].join(" ")}: ${why}`, { cause }),
        );
      }
    });
    child.stdin?.end();
  });
}
