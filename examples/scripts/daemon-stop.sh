#!/bin/sh
# Stops the daemon and waits until it exits.
pidfile=${TMPDIR:-/tmp}/nckubelet-example-daemon.$(id -u).pid
[ -s "$pidfile" ] || exit 0
pid=$(cat "$pidfile")
kill -TERM "$pid" 2> /dev/null || exit 0
while kill -0 "$pid" 2> /dev/null; do sleep 1; done
echo "the daemon was asked to end, and did"
