#!/bin/sh
# Starts a daemon and exits, like the start scripts of many servers.
pidfile=${TMPDIR:-/tmp}/nckubelet-example-daemon.$(id -u).pid
(
  trap 'echo "the daemon ends"; rm -f "$pidfile"; exit 0' TERM
  while :; do
    echo "the daemon works at $(date)"
    sleep 10 &
    wait $!
  done
) &
echo $! > "$pidfile"
echo "the daemon runs as process $!"
