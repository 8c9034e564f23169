# What every app of a storm begins with: it says in the witness file that it lives, and how it ends. Sourced, not run.
# shellcheck shell=sh

# One short line by one write to a file that is open for append: lines of several processes never mix. The time is that since
# boot, which no clock jump moves.
witness() {
  read -r uptime _ </proc/uptime
  echo "$1 $NCAPP_UID $NCAPP_NAME $NCAPP_RUN $NODE_NAME $$ $uptime ${2-}" >>"$STORM_WITNESS"
}

# Ends the app by its own will.
finish() {
  trap - TERM
  witness end "$1"
  exit "$1"
}

# An app must not outlive a storm that was killed.
storm_lives() {
  kill -0 "$STORM_PID" 2>/dev/null
}

# Writes numbered lines to the log for ever, and notes for each whether the log took it.
# $1: lines at a time, $2: padding
write_lines() {
  n=0
  while storm_lives; do
    batch=0
    while [ "$batch" -lt "$1" ]; do
      batch=$((batch + 1))
      n=$((n + 1))
      note=failed
      if echo "<$NCAPP_RUN $n>${2-}" 2>/dev/null; then note=wrote; fi
      echo "$note $n" >>"$STORM_LINES/$NCAPP_RUN"
    done
    sleep 0.5
  done
}

trap 'witness term; exit 143' TERM
witness begin
