#!/bin/sh
# Forks for as long as it is let.
. "${0%/*}/witness.sh"
trap - TERM
fork() {
  while storm_lives; do
    fork &
    sleep 1
  done
}
fork 2>/dev/null
