import { basename } from "node:path";

/** How this process was started, as `process` has it. */
export interface Started {
  execPath: string;
  execArgv: string[];
  argv: string[];
}

/**
 * Returns the command line that runs this program again, without the name of a command: the path of a single executable, or
 * else the runtime with its flags and the script. Pure.
 */
export function selfCommand({ execPath, execArgv, argv }: Started): string[] {
  const [, script = execPath] = argv;
  const runtime = basename(execPath);
  if (runtime.startsWith("deno")) return [execPath, "run", "-A", script];
  // In a single executable, the script is the executable itself (Node) or a path inside of it (Deno).
  return script === execPath || !runtime.startsWith("node") ? [execPath] : [execPath, ...execArgv, script];
}
