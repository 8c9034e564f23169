#!/bin/sh
# Ends with the status $1 after $2 seconds.
. "${0%/*}/witness.sh"
sleep "$2"
finish "$1"
