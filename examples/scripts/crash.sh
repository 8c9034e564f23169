#!/bin/sh
# Runs for two seconds, then fails.
echo "starting"
sleep 2
echo "cannot open the database: no such file" >&2
exit 3
