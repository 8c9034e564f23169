#!/bin/sh
# Fails with status $1 until its third run, which ends well.
. "${0%/*}/witness.sh"
sleep 1
if [ "$(grep -c "^begin $NCAPP_UID " "$STORM_WITNESS")" -lt 3 ]; then finish "$1"; fi
finish 0
