/**
 * Which machine it is: maker, model, processor. Found out by systeminformation, which runs programs and keeps 4 MB for good
 * (docs/decisions/0006): the agent has it done once by a child process that ends, commands that end anyway do it themselves.
 */
import { execFile } from "node:child_process";

export interface Hardware {
  manufacturer: string;
  model: string;
  cpu: string;
  virtual: boolean;
}

/** Asks systeminformation, in this process. */
export async function readHardware(): Promise<Hardware> {
  const { default: systeminformation } = await import("systeminformation");
  const [system, cpu] = await Promise.all([systeminformation.system(), systeminformation.cpu()]);
  return {
    manufacturer: system.manufacturer.trim(),
    model: system.model.trim(),
    cpu: `${cpu.manufacturer} ${cpu.brand}`.trim(),
    virtual: system.virtual,
  };
}

/** Has a program do it that prints what `readHardware` returns as JSON; it is ended when its time is over or the signal aborts. */
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
          new Error(`cannot find out the hardware by ${[program, ...args].join(" ")}: ${why}`, { cause }),
        );
      }
    });
    child.stdin?.end();
  });
}
