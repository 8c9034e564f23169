#!/bin/sh
# Usage: pg-dump.sh FOLDER. A dump has its name only when it is complete.
set -eu
folder=$1
umask 077
mkdir -p "$folder"
file=$folder/all-$(date +%Y%m%dT%H%M%S).sql.gz
trap 'rm -f "$file.part" "$file.sql"' EXIT
pg_dumpall >"$file.sql"
gzip <"$file.sql" >"$file.part"
mv "$file.part" "$file"
echo "saved $file, $(wc -c <"$file") bytes"
find "$folder" -name 'all-*.sql.gz' | sort -r | tail -n +8 | while read -r old; do rm -- "$old"; done
