#!/bin/sh
# Holds $1 MiB of memory and does nothing else.
held=$(head -c "$(($1 * 1024 * 1024))" /dev/zero | tr '\0' x)
echo "holding ${#held} bytes"
while :; do sleep 60; done
