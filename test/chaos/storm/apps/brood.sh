#!/bin/sh
# Stays in the foreground with children, an orphan in its own session, and one that does not hear SIGTERM.
. "${0%/*}/witness.sh"
idle='while kill -0 "$STORM_PID" 2>/dev/null; do sleep 1; done'
sh -c "$idle" &
sh -c "trap '' TERM; $idle" &
(
  (setsid sh -c "$idle" &) &
)
write_lines 1
