/** The clock of one program: that of the machine, until it is set off it. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import type { Member } from "./member.ts";

const program = fileURLToPath(new URL("./clocked-program.ts", import.meta.url));

export interface ProgramClock {
  /** What comes before the program's own arguments. */
  args: string[];
  /** Sets the clock, by so much off the machine's; a program that is started later has it too. */
  set(member: Member, offsetMs: number): Promise<void>;
}

/** Makes a clock that is kept in this folder. */
export async function createProgramClock(folder: string): Promise<ProgramClock> {
  const offsetFile = join(folder, "clock-offset");
  await writeFile(offsetFile, "0");
  return {
    args: [program, offsetFile],
    // In turn with kills: the signal would end a program that does not listen for it yet.
    set: (member, offsetMs) =>
      member.exclusive(async () => {
        await writeFile(offsetFile, String(offsetMs));
        if (member.pid !== undefined) process.kill(member.pid, "SIGUSR2");
      }),
  };
}
