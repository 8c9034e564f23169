import { sleep } from "../../lib/sleep.ts";
import type { Io } from "../command.ts";
import { closeScreen, openScreen } from "../terminal.ts";

const home = "\x1b[H";
const clearLine = "\x1b[K";
const clearBelow = "\x1b[J";

/**
 * Prints the lines of `draw`: once if there is no terminal, else in place until the user leaves. If the first draw fails, so does
 * the command; later failures are shown and retried, since an agent may just be restarting.
 */
export async function watchScreen(
  draw: () => Promise<string[]>,
  io: Io,
  { everyMs, once = false }: { everyMs: number; once?: boolean },
): Promise<void> {
  const first = await draw();
  if (io.columns === 0 || once) return io.stdout(`${first.join("\n")}\n`);
  io.stdout(openScreen);
  try {
    for (let lines = first; !io.signal.aborted; lines = await draw().catch(({ message }) => [message])) {
      io.stdout(screen(lines, io));
      await sleep(everyMs, io.signal);
    }
  } finally {
    io.stdout(closeScreen);
  }
}

/** Overwrites the screen line by line; clearing it first would flicker. */
function screen(lines: string[], { rows = 1000 }: Io): string {
  const fitting = lines.length < rows
    ? lines
    : [...lines.slice(0, rows - 2), `… ${lines.length - rows + 2} more`];
  return home + fitting.map((line) => `${line}${clearLine}\n`).join("") + clearBelow;
}
