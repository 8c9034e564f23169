#!/bin/bash
# Measured inside of a Debian machine with systemd and cgroup v2: prints "KEY VALUE" lines for bench/figures/guest.ts.
#   PROGRAM   the built nckubelet      RUNTIMES  folder with crun and runc, or empty      COUNT  apps to start
# Caveat: a start of a process costs twenty times and more of what it costs outside; only ratios hold.
set -u

: "$PROGRAM" "$RUNTIMES" "$COUNT"
started=/run/started manifests=/etc/nckubelet/manifests bundle=/run/bundle
apps=/sys/fs/cgroup/nckubelet.slice/nckubelet-apps.scope scope=/sys/fs/cgroup/system.slice/bench-0.scope

main() {
  mkdir -p "$manifests" "$bundle/rootfs"
  # shellcheck disable=SC2016 # $1 is the script's own
  printf '#!/bin/sh\n: >"$1"\nexec sleep 3600\n' >/opt/start.sh
  printf '#!/bin/sh\nwhile :; do :; done\n' >/opt/spin.sh
  chmod +x /opt/start.sh /opt/spin.sh
  systemd-run --quiet --unit=nckubelet "$PROGRAM" agent --standalone --manifests "$manifests" --listen ''
  give_caps 20
  wait_until test -e "$apps/default_spin/cpu.max" || { journalctl -u nckubelet | tail -20; exit 1; }
  sleep 5
  measure_cap
  for cap in 40 20 50 10 30; do measure_resize resize "$apps/default_spin" "$cap" give_caps; done
  rm -f "$manifests/spin.yaml"
  wait_until test ! -e "$apps/default_spin"
  write_apps
  wait_until at_rest

  measure ours give_apps
  measure systemd-run each systemd_run
  for cap in 40 20 50 10 30; do measure_resize set-property "$scope" "$cap" set_property; done
  systemctl stop nckubelet nckubelet-apps.scope
  [ -n "$RUNTIMES" ] || return 0
  export LD_LIBRARY_PATH=$RUNTIMES/usr/lib/x86_64-linux-gnu
  write_bundle
  measure crun each crun
  measure runc each runc
}

# measure NAME COMMAND...: the clock until every script has run its first line, and the CPU until all is quiet again.
measure() {
  local name=$1 cpu wall
  shift
  rm -rf "$started" && mkdir "$started"
  busy && cpu=$ticks wall=${EPOCHREALTIME/./}
  "$@" >/dev/null 2>/run/errors &
  if ! wait_until all_started; then
    echo "missing $name only ${#files[@]} of $COUNT ran: $(tail -n 1 /run/errors)"
    return
  fi
  echo "$name-wall-ms $(((${EPOCHREALTIME/./} - wall) / 1000))"
  wait $!
  pause 3
  busy && echo "$name-cpu-ms $(((ticks - cpu) * 10))"
}

# All at once, as the agent gets them.
each() {
  local at
  for ((at = 0; at < COUNT; at++)); do "$@" "$at" & done
  wait
}

write_apps() {
  local at
  for ((at = 0; at < COUNT; at++)); do
    manifest "app-$at" /opt/start.sh "$started/$at" 5
    echo ---
  done >"$manifests/.apps"
}

give_apps() { mv "$manifests/.apps" "$manifests/apps.yaml"; }

systemd_run() {
  # A scope keeps its command in the foreground; the others come back.
  systemd-run --quiet --scope --unit="bench-$1" -p CPUQuota=5% -p MemoryMax=50M -p TasksMax=100 \
    setsid -f /opt/start.sh "$started/$1"
}

crun() { "$RUNTIMES/usr/bin/crun" run --detach --bundle "$bundle/$1" "crun-$1" </dev/null; }
runc() { "$RUNTIMES/usr/sbin/runc" run --detach --no-new-keyring --bundle "$bundle/$1" "runc-$1" </dev/null; }

# A container that shares the machine's files: the same script, with limits of its own and a mount and a process namespace.
write_bundle() {
  local at
  for ((at = 0; at < COUNT; at++)); do
    mkdir -p "$bundle/$at/rootfs"
    cat >"$bundle/$at/config.json" <<CONFIG
{"ociVersion": "1.0.0", "root": {"path": "rootfs"},
 "process": {"user": {"uid": 0, "gid": 0}, "args": ["/opt/start.sh", "$started/$at"], "cwd": "/", "noNewPrivileges": true,
  "env": ["PATH=/usr/bin:/bin"]},
 "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"},
  $(for dir in usr bin lib lib64 opt run; do printf '{"destination": "/%s", "type": "bind", "source": "/%s", "options": ["rbind"]},' $dir $dir; done)
  {"destination": "/dev", "type": "bind", "source": "/dev", "options": ["rbind"]}],
 "linux": {"namespaces": [{"type": "mount"}, {"type": "pid"}],
  "resources": {"cpu": {"quota": 5000, "period": 100000}, "memory": {"limit": 52428800}, "pids": {"limit": 100}}}}
CONFIG
  done
}

# manifest NAME SCRIPT ARGUMENT CPU
manifest() {
  printf 'apiVersion: app.example.com/v1alpha1\nkind: NCApp\nmetadata: {name: %s}\nspec: {shellFile: %s, args: ["%s"], cpuPCT: %s, memPCT: 5, pidsMax: 100}\n' "$@"
}

give_caps() { manifest spin /opt/spin.sh "" "$1" >"$manifests/.new" && mv "$manifests/.new" "$manifests/spin.yaml"; }

# How far ten seconds of a busy loop are from its cap of 20%.
measure_cap() {
  local before wall
  usage && before=$used wall=${EPOCHREALTIME/./}
  sleep 10
  usage && echo "cap-ppm $(((used - before) * 1000000 / (${EPOCHREALTIME/./} - wall)))"
}

# measure_resize NAME CGROUP CAP COMMAND: from the command's start until the kernel has the new cap.
measure_resize() {
  local wall=${EPOCHREALTIME/./} cap
  "$4" "$3" &
  while read -r cap _ <"$2/cpu.max" && [ "$cap" != "${3}000" ]; do
    [ $((${EPOCHREALTIME/./} - wall)) -lt 30000000 ] || { echo "missing $1 the cap is still $cap"; return; }
    pause 0.002
  done
  echo "$1-us $((${EPOCHREALTIME/./} - wall))"
  wait $!
}

set_property() { systemctl set-property --runtime bench-0.scope "CPUQuota=$1%"; }

usage() {
  local key value
  while read -r key value; do [ "$key" != usage_usec ] || used=$value; done <"$apps/default_spin/cpu.stat"
}

# What follows starts no process, since that would be what is measured: answers come in variables.

# Into $ticks, of 10 ms each: how long the one CPU was not idle.
busy() {
  local user nice system _
  read -r _ user nice system _ </proc/stat
  ticks=$((user + nice + system))
}

# Less than a tenth of two seconds was work.
at_rest() {
  local before
  busy && before=$ticks
  pause 2
  busy && [ $((ticks - before)) -lt 20 ]
}

all_started() {
  files=("$started"/*)
  [ -e "${files[0]}" ] && [ ${#files[@]} -ge "$COUNT" ]
}

# wait_until COMMAND...: two minutes at most.
wait_until() {
  local end=$((SECONDS + 120))
  until "$@"; do
    [ $SECONDS -lt $end ] || return 1
    pause 0.05
  done
}

pause() { read -rt "$1" -u "$never" || :; }

mkfifo /run/never && exec {never}<>/run/never
main
