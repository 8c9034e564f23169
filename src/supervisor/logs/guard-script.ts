/**
 * The guard's `sh`. It gets its table on stdin, one line `PATH<tab>BYTES` per log, and frees the oldest bytes of a log that uses
 * more disk space than that: they read as zeros, and the log keeps its length, so appending apps and readers go on.
 *
 * It ends when its link is gone, when no process has one of the logs as its stdout or stderr, or as 9, as native launchers do, or by
 * SIGTERM: after the command that
 * it waits for, so that nothing is freed once it is gone. While there is an agent's lock it does nothing.
 */
export const guardScript = `# Bounds the logs of apps while no agent runs. Started by nckubelet when it stops.
link=$1 lock=$2 poll=$3 sleeper= round=0 path=
shift 3
tab='	' table= newline='
'
# No command: the agent moves only this process to another cgroup.
while IFS=$tab read -r log bytes; do
  table=$table$log$tab$bytes$newline
  set -- "$@" "$log"
done
[ "$#" -gt 0 ] || exit
exec </dev/null
trap '[ -z "$sleeper" ] || kill "$sleeper"; exit 0' TERM
bound() {
  # Not a here-document: bash may need a file for it, and the disk may be full.
  printf %s "$table" | {
    exec 3<&0
    stat -c '%b %s %n' "$@" | while read -r blocks size log; do
      # Both lists have the order of the table. stat leaves out what is gone.
      while [ "$path" != "$log" ]; do IFS=$tab read -r path keep <&3 || exit; done
      free=$(((size - keep) / 4096 * 4096))
      [ $((blocks * 512)) -le "$keep" ] || [ "$free" -le 0 ] ||
        fallocate --punch-hole --offset 0 --length "$free" "$log"
    done
  }
}
written() {
  stat -L -c %d:%i /proc/[0-9]*/fd/[129] | grep -qxF -e "$(stat -c %d:%i "$@")"
}
while [ -L "$link" ]; do
  if ! [ -L "$lock" ]; then
    bound "$@"
    round=$(((round + 1) % 10))
    [ "$round" != 0 ] || written "$@" || { rm -f "$link"; exit; }
  fi
  sleep "$poll" &
  sleeper=$!
  wait "$sleeper"
  sleeper=
done
`;
