/** The clock of one program: the machine's clock plus an offset. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import type { Member } from "./member.ts";

const program = fileURLToPath(new URL("./clocked-program.ts", import.meta.url));

export interface ProgramClock {
  /** The arguments before the program's own. */
  args: string[];
  /** Sets the offset, also for a program that starts later. */
  set(member: Member, offsetMs: number): Promise<void>;
}

/** Creates a clock whose offset is stored in this folder. */
export async function createProgramClock(folder: string): Promise<ProgramClock> {
  const offsetFile = join(folder, "clock-offset");
  await writeFile(offsetFile, "0");
  return {
    args: [program, offsetFile],
    // Not during kills: the signal would end a program that does not handle it yet.
    set: (member, offsetMs) =>
      member.exclusive(async () => {
        await writeFile(offsetFile, String(offsetMs));
        if (member.pid !== undefined) process.kill(member.pid, "SIGUSR2");
      }),
  };
}
