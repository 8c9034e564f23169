#!/bin/sh
# One app of the set that a storm rolls. It must not outlive a storm that was killed.
trap 'exit 143' TERM
while kill -0 "$STORM_PID" 2>/dev/null; do sleep 0.5; done
