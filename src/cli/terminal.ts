/**
 * The terminal of the process, for commands that take keys.
 *
 * Guarantees: the terminal is as before after `close`, and after any end of the process but SIGKILL.
 */

/** Opens a screen of its own, hides the cursor, and cuts wide lines: a line of two rows would push others off the screen. */
export const openScreen = "\x1b[?1049h\x1b[?25l\x1b[?7l";
export const closeScreen = "\x1b[?7h\x1b[?25h\x1b[?1049l";

export interface Terminal extends Disposable {
  /** Calls back with what is typed, key by key, without echo. */
  onInput(listener: (bytes: Uint8Array) => void): void;
  onResize(listener: () => void): void;
  /** Gives the terminal back to the shell until it continues this process. */
  suspend(): void;
}

/** Deno prints an error that nobody handles before `exit`: the message would vanish with the screen. */
const endEvents = ["uncaughtExceptionMonitor", "exit"] as const;
type EndEvent = typeof endEvents[number];

/** What it needs of `process`. */
export interface TerminalProcess {
  stdin: NodeJS.ReadStream;
  stdout: NodeJS.WriteStream;
  pid: number;
  kill(pid: number, signal: string): unknown;
  on(event: EndEvent, listener: () => void): unknown;
  off(event: EndEvent, listener: () => void): unknown;
}

/** Takes the terminal, which standard input and output must be. */
export function openTerminal(host: TerminalProcess): Terminal {
  const { stdin, stdout } = host;
  const listeners: { input?: (bytes: Uint8Array) => void; resize?: () => void } = {};
  const onData = (bytes: Uint8Array) => listeners.input?.(bytes);
  const onResize = () => listeners.resize?.();
  let isTaken = false;
  const take = () => {
    isTaken = true;
    stdin.setRawMode(true);
    stdout.write(openScreen);
  };
  const giveBack = () => {
    if (!isTaken) return;
    isTaken = false;
    // Writes to a terminal are synchronous, so they work at the end of a process, too.
    stdout.write(closeScreen);
    stdin.setRawMode(false);
  };
  for (const event of endEvents) host.on(event, giveBack);
  stdin.on("data", onData);
  stdout.on("resize", onResize);
  take();
  return {
    onInput: (listener) => void (listeners.input = listener),
    onResize: (listener) => void (listeners.resize = listener),
    suspend() {
      giveBack();
      // The process stops here until SIGCONT.
      host.kill(host.pid, "SIGTSTP");
      take();
      onResize();
    },
    [Symbol.dispose]() {
      for (const event of endEvents) host.off(event, giveBack);
      stdin.off("data", onData);
      stdout.off("resize", onResize);
      stdin.pause();
      giveBack();
    },
  };
}
