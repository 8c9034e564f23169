#!/bin/sh
# Shows what an app is given.
echo "arguments: $#"
for argument in "$@"; do echo "  $argument"; done
echo "folder: $(pwd)"
echo "variables:"
env | sort | sed 's/^/  /'
while :; do sleep 60; done
