/**
 * The sh launcher: a small `sh` per run that outlives the agent, starts the script and writes down how it ended. It opens app.log
 * as the script's stdout and stderr: the app writes its log itself, with no pipe and no agent in between.
 *
 * Guarantees:
 * - Either the launcher or an agent creates the claim, never both (`set -C` is O_EXCL, and a failed `exec` ends the shell), so a
 *   run whose agent died right after the spawn can be canceled for certain.
 * - The launcher itself is in the keeper's cgroup; the script enters the run's cgroup before its first instruction. Killing
 *   the app's cgroup, or the kernel's OOM group kill, never kills the launcher.
 * - The script runs in the foreground of the launcher, because a shell makes a background job ignore SIGINT and SIGQUIT.
 * - The environment is read after the privileges are dropped and is never in an argument list: an LD_PRELOAD meant for
 *   the app is not loaded by anything that runs as root, and `ps` shows no secret.
 * - The agent raises its own limit of descriptors to the maximum; the script gets a soft limit of 65536 and may raise it to that
 *   maximum.
 * - The exit status overwrites bytes that the agent wrote beforehand (`1<>` does not truncate), so that a full disk cannot
 *   lose it. If the launcher got SIGTERM, which agents never send it, it adds that: a shutdown ended the script.
 *
 * Each mark is one short write; a reader that finds an empty one waits for the next notification.
 */
export const launcherScript =
  `# Starts one NCApp script and records how it ended. Written by nckubelet; do not edit.
mark=$1 keeper=$2 leaf=$3 log=$4 environment=$5
shift 5
umask 077
read -r launcher </proc/self/stat
set -C
exec 9>"$mark.claim"
set +C
echo "$launcher" >&9 || { rm -f "$mark.claim"; exit 125; }
exec 9>&-
trap : HUP INT QUIT USR1 USR2 ALRM
terminated=
trap 'terminated="
terminated"' TERM
if [ -n "$keeper" ] && ! { echo 0 >"$keeper/cgroup.procs"; } 2>/dev/null; then
  echo "cannot enter $keeper" >"$mark.failure"
  exit 125
fi
(
  if [ -n "$leaf" ] && ! { echo 0 >"$leaf/cgroup.procs"; } 2>/dev/null; then
    echo "cannot enter $leaf" >"$mark.failure"
    exit 125
  fi
  { echo 0 >/proc/self/oom_score_adj; } 2>/dev/null
  umask 022
  ulimit -S -n 65536 2>/dev/null
  read -r main </proc/self/stat
  echo "$main" >"$mark.started" || exit 125
  exec "$@"
) </dev/null >>"$log" 2>&1 3<"$environment"
echo "exit $?$terminated" 1<>"$mark.exit"
`;

/** Enters a run for a command beside its script. */
export const joinScript = `leaf=$1 environment=$2 log=$3
shift 3
[ -z "$leaf" ] || echo 0 >"$leaf/cgroup.procs" || { echo "nckubelet cannot enter $leaf" >&2; exit 126; }
{ echo 0 >/proc/self/oom_score_adj; } 2>/dev/null
umask 022
if [ -n "$log" ]; then exec >>"$log" 2>&1; fi
exec "$@" 3<"$environment"`;

/** What the agent writes into the exit mark beforehand: longer than any status, so that the status needs no more disk space. */
export const exitPlaceholder = "running\n".padEnd(32, "\n");

/** Runs last before the script, as the app's user, with the environment on descriptor 3. Arguments: the folder, then the command. */
export const entryScript =
  'nckubelet_env=$(cat <&3) || exit 126; eval "$nckubelet_env"; unset nckubelet_env; exec 3<&-; cd -- "$1" || exit 126; unset OLDPWD; shift; exec "$@"';
