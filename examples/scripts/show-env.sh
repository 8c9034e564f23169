#!/bin/sh
# Prints the arguments, working directory and environment of an app.
echo "arguments: $#"
for argument in "$@"; do echo "  $argument"; done
echo "folder: $(pwd)"
echo "variables:"
env | sort | sed 's/^/  /'
while :; do sleep 60; done
