#!/bin/sh
# Says hello every five seconds.
i=0
while :; do
  i=$((i + 1))
  echo "hello number $i at $(date)"
  sleep 5
done
