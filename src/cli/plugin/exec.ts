/** `kubectl ncapp exec`: runs a command inside an app on its node. kubectl does it, with the app's Pod. */
import { spawn } from "node:child_process";
import { podContainer } from "../../api/names.ts";
import { errorCode } from "../../lib/files.ts";
import { exitCodeOf } from "../../supervisor/run/run.ts";
import { type AppName, oneApp } from "../app-name.ts";
import { type Command, type Invocation, type Io, textFlag, UsageError } from "../command.ts";
import { clusterFlags, connectApps } from "./cluster-apps.ts";

export const execCommand: Command = {
  operands: "APP -- COMMAND [ARG...]",
  ownOperands: 1,
  flags: {
    stdin: { short: "i", help: "Pass standard input to the command." },
    tty: { short: "t", help: "Give the command a terminal." },
    ...clusterFlags,
  },
  examples: ["kubectl ncapp exec -it web -- sh", "kubectl ncapp exec shop/web -- cat /proc/self/cgroup"],
  async run(invocation, io) {
    const [word, ...command] = invocation.args;
    if (word !== undefined && command.length === 0) {
      throw new UsageError(`no command is given: use kubectl ncapp exec ${word} -- COMMAND`);
    }
    using apps = await connectApps(invocation, io);
    const name = oneApp({ ...invocation, args: word === undefined ? [] : [word] }, apps.namespace);
    return await runKubectl(execWords(invocation, await apps.findPod(name), command), io);
  },
};

/** Returns the arguments of kubectl: to the same cluster as this command, as the same user. */
export function execWords(invocation: Invocation, { namespace, name }: AppName, command: string[]): string[] {
  const connection = ["kubeconfig", "context"].flatMap((flag) => {
    const value = textFlag(invocation, flag);
    return value === undefined ? [] : [`--${flag}=${value}`];
  });
  const streams = ["stdin", "tty"].filter((flag) => invocation.flags[flag] === true).map((flag) =>
    `--${flag}`
  );
  return [
    "exec",
    ...connection,
    `--namespace=${namespace}`,
    `--container=${podContainer}`,
    ...streams,
    name,
    "--",
    ...command,
  ];
}

/** Resolves to the exit code of the command, which is that of kubectl. */
async function runKubectl(words: string[], { env, signal }: Pick<Io, "env" | "signal">): Promise<number> {
  const child = spawn("kubectl", words, { env, stdio: "inherit" });
  const end = () => child.kill();
  signal.addEventListener("abort", end, { once: true });
  try {
    return await exitCodeOf(child);
  } catch (cause) {
    const why = errorCode(cause) === "ENOENT" ? "it is not on the PATH" : errorCode(cause);
    throw new Error(`cannot run kubectl: ${why}`, { cause });
  } finally {
    signal.removeEventListener("abort", end);
  }
}
