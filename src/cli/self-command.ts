import { basename } from "node:path";

/** What tells how this process was started; `process` is one. */
export interface Started {
  execPath: string;
  execArgv: string[];
  argv: string[];
}

/**
 * The words that call this program again, before the name of a command: the executable alone where it is all in one file, else the
 * runtime with its own flags and the script. Pure.
 */
export function selfCommand({ execPath, execArgv, argv }: Started): string[] {
  const [, script = execPath] = argv;
  const runtime = basename(execPath);
  if (runtime.startsWith("deno")) return [execPath, "run", "-A", script];
  // A single executable made from Node has its own path for the script, one made by Deno a path of its own inside.
  return script === execPath || !runtime.startsWith("node") ? [execPath] : [execPath, ...execArgv, script];
}
