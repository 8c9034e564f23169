#!/bin/sh
# Prints a line every five seconds.
i=0
while :; do
  i=$((i + 1))
  echo "hello number $i at $(date)"
  sleep 5
done
