#!/bin/sh
# Stays in the foreground and writes numbered lines. $1: lines at a time, $2: padding.
. "${0%/*}/witness.sh"
write_lines "${1-1}" "${2-}"
