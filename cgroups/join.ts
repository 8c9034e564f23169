/**
 * How a process gets into a cgroup before its first own instruction.
 *
 * The contract: a shell writes `0`, which the kernel reads as "me", to the leaf's `cgroup.procs` and then
 * execs. From there on every child is inside, however often it forks or calls setsid; there is no way out
 * for a process that cannot write to another cgroup. `echo` must be the shell's builtin, as it is in every
 * POSIX shell: a program of its own would move itself and exit.
 *
 *     sh -c "${joinCommand(leaf)} || exit 125; exec \"\$@\"" sh /path/to/script
 *
 * A launcher that must itself stay outside does the same in a subshell: `( <join> || exit 125; exec … )`.
 */

/** The shell command that moves the shell running it into the cgroup `dir`. Fails as any command does. */
export function joinCommand(dir: string): string {
  return `echo 0 > ${quote(`${dir}/cgroup.procs`)}`;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
