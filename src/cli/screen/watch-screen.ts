import { sleep } from "../../lib/sleep.ts";
import type { Io } from "../command.ts";

// Without wrapping, the terminal cuts what is wider than itself: a line that took two rows would push others off the screen.
const openScreen = "\x1b[?1049h\x1b[?25l\x1b[?7l";
const closeScreen = "\x1b[?7h\x1b[?25h\x1b[?1049l";
const home = "\x1b[H";
const clearLine = "\x1b[K";
const clearBelow = "\x1b[J";

/**
 * Shows what `look` sees: once where there is no terminal, else again and again in place, until the user leaves. A first look that
 * fails is an error; later ones are shown and tried again, since who is being restarted is worth waiting for.
 */
export async function watchScreen(
  look: () => Promise<string[]>,
  io: Io,
  { everyMs, once = false }: { everyMs: number; once?: boolean },
): Promise<void> {
  const first = await look();
  if (io.columns === 0 || once) return io.stdout(`${first.join("\n")}\n`);
  io.stdout(openScreen);
  try {
    for (let lines = first; !io.signal.aborted; lines = await look().catch(({ message }) => [message])) {
      io.stdout(screen(lines, io));
      await sleep(everyMs, io.signal);
    }
  } finally {
    io.stdout(closeScreen);
  }
}

/** Overwrites what is there, line by line: clearing the screen first would flicker. */
function screen(lines: string[], { rows = 1000 }: Io): string {
  const fitting = lines.length < rows
    ? lines
    : [...lines.slice(0, rows - 2), `… ${lines.length - rows + 2} more`];
  return home + fitting.map((line) => `${line}${clearLine}\n`).join("") + clearBelow;
}
