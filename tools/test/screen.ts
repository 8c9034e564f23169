/**
 * The output of a run. On a terminal the steps that are under way have live lines at the bottom, and the rest scrolls above them. A pipe
 * and CI get neither live lines nor what is only for one who watches, and no control characters.
 */
import process from "node:process";
import { liveLines, type Step } from "./live-lines.ts";

/** Where the runner writes. */
export interface Screen {
  /** Whether somebody watches. */
  readonly live: boolean;
  print(text: string): void;
  /** Prints text that is only for one who watches. */
  tell(text: string): void;
  /** Shows a live line while `run` runs. */
  during<T>(step: Step, run: () => Promise<T>): Promise<T>;
  /** Writes what is left and erases the live lines. */
  close(): void;
}

/** The stream that it writes to. */
export interface Output {
  isTTY?: boolean;
  columns?: number;
  write(text: string): unknown;
}

const drawEveryMs = 250;

/** Opens the screen; it holds a timer until it is closed. */
export function openScreen(output: Output = process.stdout, env = process.env): Screen {
  const live = output.isTTY === true && env.CI !== "true" && env.TERM !== "dumb";
  return live ? openTerminal(output) : openPipe(output);
}

function openPipe(output: Output): Screen {
  return {
    live: false,
    print: (text) => void output.write(`${text}\n`),
    tell() {},
    during: (_step, run) => run(),
    close() {},
  };
}

function openTerminal(output: Output): Screen {
  const steps = new Set<Step>();
  let waiting = "";
  let drawn = 0;
  // Everything in one write: lines that vanish and come back would flicker.
  const draw = () => {
    // Up to the first live line; then all below is erased.
    const erase = drawn > 0 ? `\x1b[${drawn}F\x1b[0J` : "";
    const lines = liveLines([...steps], performance.now(), output.columns ?? 80);
    const text = erase + waiting + lines.map((line) => `${line}\n`).join("");
    waiting = "";
    drawn = lines.length;
    if (text !== "") output.write(text);
  };
  const timer = setInterval(draw, drawEveryMs);
  const print = (text: string) => void (waiting += `${text}\n`);
  return {
    live: true,
    print,
    tell: print,
    async during(step, run) {
      steps.add(step);
      try {
        return await run();
      } finally {
        steps.delete(step);
      }
    },
    close() {
      clearInterval(timer);
      steps.clear();
      draw();
    },
  };
}
