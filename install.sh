#!/bin/sh
# Installs, upgrades or re-configures NC-Kubelet on this machine: curl -fsSL URL/install.sh | sh
# Run it as root, as often as you like. docs/install.md describes it.
#
# Where the executable comes from:
#   NCKUBELET_URL         URL of the release: SHA256SUMS and nckubelet-linux-ARCH.gz
#   NCKUBELET_VERSION     use URL/VERSION, and reject an executable of another version; allows an older release
#   NCKUBELET_BINARY      a local file instead, .gz or not; verified with a SHA256SUMS in the same folder
#   NCKUBELET_PUBLIC_KEY  file with an RSA public key (PEM) that must have signed SHA256SUMS (SHA256SUMS.sig)
# The API server to join; without it, the agent runs only the apps in /etc/nckubelet/manifests:
#   NCKUBELET_KUBECONFIG  a kubeconfig to copy
#   NCKUBELET_SERVER      or the address of the API server, with
#   NCKUBELET_TOKEN       its token, or a bootstrap token: the node then makes its own key,
#   NCKUBELET_CA_FILE     the certificate of its CA, if the machine does not trust it, and
#   NCKUBELET_CA_HASH     sha256:HEX of the CA's public key; without a CA file, the CA comes from the cluster
# How the agent runs:
#   NCKUBELET_EXEC        flags of `nckubelet agent`; later runs keep them until you set another value
#
# Guarantees: a truncated download does nothing, since only the last line calls anything. Everything is downloaded,
# verified and tried before the first file changes. Files are replaced by rename; the old executable stays as
# nckubelet.previous. A killed run leaves the old or the new version running, and the next run completes it. The agent
# restarts only if something changed, and apps keep running: they are not part of its service.

main() {
  set -eu
  umask 022
  eval "$(write_setting_functions; write_answer_functions)"
  read_settings
  check_machine
  open_work_folder
  stage_binary
  stage_kubeconfig
  stage_files
  put_in_place
  run_service
  print_next_steps
}

read_settings() {
  # npm run release -- --url URL writes the URL here.
  release_url=''
  root=${NCKUBELET_TEST_ROOT:-}
  bin=$root/usr/local/bin
  etc=$root/etc/nckubelet
  url=${NCKUBELET_URL:-$release_url}
  url=${url%/}
  version=${NCKUBELET_VERSION:-}
  binary=${NCKUBELET_BINARY:-}
  public_key=${NCKUBELET_PUBLIC_KEY:-}
  server=${NCKUBELET_SERVER:-}
  token=${NCKUBELET_TOKEN:-}
  ca_file=${NCKUBELET_CA_FILE:-}
  ca_hash=${NCKUBELET_CA_HASH:-}
  kubeconfig=${NCKUBELET_KUBECONFIG:-}
  check_settings
}

check_settings() {
  [ -n "$url$binary" ] || fail "set NCKUBELET_URL to the URL of a release, or NCKUBELET_BINARY to a file"
  case $url in
    '' | https://* | http://*) ;;
    *) fail "NCKUBELET_URL \"$url\" must start with https:// or http://" ;;
  esac
  [ -z "$version" ] || one_word NCKUBELET_VERSION "$version"
  for file in "$binary" "$public_key" "$ca_file" "$kubeconfig"; do
    [ -z "$file" ] || [ -f "$file" ] || fail "no such file: $file"
  done
  one_line NCKUBELET_EXEC "${NCKUBELET_EXEC:-}"
  check_node_name
  check_join_settings
}

# The node nckubelet-a would have the Lease that belongs to the agent of node a.
check_node_name() {
  node=$(printf '%s\n' "${NCKUBELET_EXEC:-}" | sed -n 's/^\(.* \)*--node-name[= ]*\([^ ]*\).*/\2/p')
  if [ -z "$node" ] && [ -f "$etc/config.yaml" ]; then
    node=$(sed -n 's/^node-name[[:space:]]*:[[:space:]]*//p' "$etc/config.yaml")
  fi
  [ -n "$node" ] || node=$(uname -n | tr '[:upper:]' '[:lower:]')
  case ${node#[\"\']} in
    nckubelet-*) fail "the name of this node, $node, must not begin with nckubelet-: add --node-name NAME to NCKUBELET_EXEC" ;;
  esac
}

check_join_settings() {
  if [ -n "$kubeconfig" ]; then
    [ -z "$server$token$ca_file$ca_hash" ] ||
      fail "NCKUBELET_KUBECONFIG excludes NCKUBELET_SERVER, _TOKEN, _CA_FILE and _CA_HASH: unset them"
    return 0
  fi
  if [ -z "$server" ]; then
    [ -z "$token$ca_file$ca_hash" ] || fail "NCKUBELET_TOKEN, _CA_FILE and _CA_HASH need NCKUBELET_SERVER"
    return 0
  fi
  one_word NCKUBELET_SERVER "$server"
  [ -z "$token" ] || one_word NCKUBELET_TOKEN "$token"
  case $server in
    https://*) [ -n "$token" ] || fail "NCKUBELET_SERVER $server needs NCKUBELET_TOKEN" ;;
    http://*) [ -z "$token" ] || fail "NCKUBELET_SERVER $server is not encrypted: unset NCKUBELET_TOKEN or use https" ;;
    *) fail "NCKUBELET_SERVER \"$server\" must start with https:// or http://" ;;
  esac
  case $ca_hash in
    '' | sha256:*) ;;
    *) fail "NCKUBELET_CA_HASH \"$ca_hash\" must be sha256:HEX" ;;
  esac
}

# one_word NAME VALUE: the value goes into YAML unquoted. Messages do not show it: it may be a secret.
one_word() {
  case $2 in
    *[!][A-Za-z0-9._~+/=:@%-]*) fail "$1 contains an invalid character" ;;
  esac
}

one_line() {
  case $2 in
    *"
"*) fail "$1 must be one line" ;;
  esac
}

check_machine() {
  [ "$(id -u)" = 0 ] || fail "must run as root: curl -fsSL URL/install.sh | sudo sh"
  [ "$(uname -s)" = Linux ] || fail "this is $(uname -s); NC-Kubelet runs on Linux"
  case $(uname -m) in
    x86_64 | amd64) arch=amd64 elf_machine='3e 00' ;;
    aarch64 | arm64) arch=arm64 elf_machine='b7 00' ;;
    *) fail "no executable for $(uname -m): NC-Kubelet runs on x86_64 and aarch64" ;;
  esac
  find_init
  [ -f "$root/sys/fs/cgroup/cgroup.controllers" ] || fail "no cgroup v2 at /sys/fs/cgroup: $cgroup_advice"
  controllers=" $(cat "$root/sys/fs/cgroup/cgroup.controllers") "
  for controller in cpu memory pids; do
    case $controllers in
      *" $controller "*) ;;
      *) say "warning: the kernel has no $controller controller; apps with such a limit will not start" ;;
    esac
  done
}

find_init() {
  if [ -d "$root/run/systemd/system" ]; then
    init=systemd cgroup_advice='boot with systemd.unified_cgroup_hierarchy=1'
  elif command -v rc-service >/dev/null 2>&1; then
    init=openrc cgroup_advice='set rc_cgroup_mode="unified" in /etc/rc.conf and reboot'
  else
    fail "found neither systemd nor OpenRC: run 'nckubelet agent' with your own service manager"
  fi
}

# Next to the executable, so that a rename installs it and no other file system needs space.
open_work_folder() {
  lock='' work=''
  trap 'rm -rf "$work" "$lock"' EXIT
  trap 'exit 129' HUP
  trap 'exit 130' INT
  trap 'exit 143' TERM
  if command -v flock >/dev/null 2>&1; then
    take_lock
    # Left by a killed run.
    rm -rf "$bin"/.nckubelet-install.* 2>/dev/null || :
  fi
  folder=$(mkdir -p "$bin" 2>&1) || fail "cannot write to $bin: ${folder##*: }"
  folder=$(mktemp -d "$bin/.nckubelet-install.XXXXXX" 2>&1) || fail "cannot write to $bin: ${folder##*: }"
  work=$folder
}

# Only root can open the file, so no other user can take the lock. The run that holds it removes the file.
take_lock() {
  file=$root/run/nckubelet-install.lock
  problem=$( (umask 077 && : >>"$file") 2>&1) || fail "cannot write $file: ${problem##*: }"
  exec 9>>"$file"
  # shellcheck disable=SC3013 # dash, busybox and bash have -ef
  flock -n 9 && [ "$file" -ef /proc/self/fd/9 ] || fail "another install.sh is running on this machine"
  lock=$file
}

# Puts the new executable into $work/nckubelet, verified and tried; nothing if the installed one is identical.
stage_binary() {
  if [ -n "$binary" ]; then stage_local_binary; else stage_release_binary; fi
  program=$bin/nckubelet
  [ -f "$work/nckubelet" ] || return 0
  chmod 755 "$work/nckubelet"
  check_runs "$work/nckubelet"
  if [ -f "$bin/nckubelet" ] && cmp -s "$work/nckubelet" "$bin/nckubelet"; then
    rm "$work/nckubelet"
  else
    program=$work/nckubelet
  fi
}

stage_local_binary() {
  name=$(basename "$binary")
  folder=$(dirname "$binary")
  packed_digest=none release=
  if [ -f "$folder/SHA256SUMS" ]; then
    cp "$folder/SHA256SUMS" "$work/SHA256SUMS"
    [ ! -f "$folder/SHA256SUMS.sig" ] || cp "$folder/SHA256SUMS.sig" "$work/SHA256SUMS.sig"
    check_signature
    check_digest "$binary" "$name"
  elif [ -n "$public_key" ]; then
    fail "NCKUBELET_PUBLIC_KEY is set, but there is no SHA256SUMS next to $binary"
  fi
  unpack "$binary"
}

stage_release_binary() {
  base=$url${version:+/$version}
  case $base in
    http://127.* | http://localhost[:/]* | https://*) ;;
    *) [ -n "$public_key" ] || say "warning: $base is not encrypted, and NCKUBELET_PUBLIC_KEY is not set" ;;
  esac
  name=nckubelet-linux-$arch.gz
  fetch "$base/SHA256SUMS" "$work/SHA256SUMS"
  [ -z "$public_key" ] || fetch "$base/SHA256SUMS.sig" "$work/SHA256SUMS.sig"
  check_signature
  check_age
  packed_digest=$(listed_digest "$name") || fail "$base/SHA256SUMS does not list $name"
  ! is_installed "$packed_digest" || return 0
  say "downloading $base/$name"
  fetch "$base/$name" "$work/$name"
  check_digest "$work/$name" "$name"
  unpack "$work/$name"
  rm "$work/$name"
}

# is_installed DIGEST: the installed executable came from the .gz with this digest and is unchanged.
is_installed() {
  [ -f "$bin/nckubelet" ] && [ -f "$etc/.installed" ] || return 1
  read -r digests_there <"$etc/.installed"
  [ "$digests_there" = "$1 $(sha256 "$bin/nckubelet")" ]
}

# SHA256SUMS begins with "# nckubelet VERSION DATE". A server, or who sits between, could offer an older release with a
# valid signature and known defects; who wants one names its version.
check_age() {
  installed=$(sed -n 2p "$etc/.installed" 2>/dev/null) || :
  [ -z "$version" ] && [ -n "$release" ] && [ -n "$installed" ] || return 0
  [ "${release%% *}" = "${installed%% *}" ] ||
    [ "$(printf '%s\n' "${release%% *}" "${installed%% *}" | LC_ALL=C sort | head -n 1)" = "${installed%% *}" ] ||
    fail "the release ${release#* } of ${release%% *} is older than the installed ${installed#* } of ${installed%% *}: to go back, set NCKUBELET_VERSION=${release#* }"
}

# fetch URL FILE
fetch() {
  if command -v curl >/dev/null 2>&1; then
    case $1 in
      https:*) redirects='=https' ;;
      *) redirects='=http,https' ;;
    esac
    # A download may take long, but must not stall.
    problem=$(curl -fsSL --proto-redir "$redirects" --retry 2 --connect-timeout 20 --speed-limit 1000 --speed-time 30 \
      -o "$2" "$1" 2>&1) && return 0
  elif command -v wget >/dev/null 2>&1; then
    fetch_with_wget "$1" "$2" && return 0
  else
    fail "cannot download $1: install curl or wget"
  fi
  problem=$(printf '%s' "$problem" | tail -n 1)
  has_space || problem="no space left: $(free_space)"
  proxy=
  for variable in http_proxy https_proxy HTTPS_PROXY all_proxy ALL_PROXY; do
    eval "[ -z \"\${$variable:-}\" ]" || proxy=" (through the proxy of \$$variable)"
  done
  fail "cannot download $1: ${problem:-the server is unreachable or has no such file}$proxy"
}

# fetch_with_wget URL FILE: wget itself would follow a redirect from https to http. The wget of busybox always does, and
# verifies no certificate: with it, https needs a signature.
fetch_with_wget() {
  case $1$(wget --help 2>&1) in
    https:*max-redirect*) fetch_https_with_wget "$1" "$2" && return 0 || return 1 ;;
    https:*) [ -n "$public_key" ] || fail "this wget does not verify https: install curl, or set NCKUBELET_PUBLIC_KEY" ;;
  esac
  problem=$(wget -q -T 20 -O "$2" "$1" 2>&1)
}

fetch_https_with_wget() {
  address=$1 hops=0
  until problem=$(wget -nv -S --max-redirect=0 -T 20 -O "$2" "$address" 2>&1); do
    next=$(printf '%s\n' "$problem" | tr -d '\r' | sed -n 's/^ *[Ll]ocation: *\([^ ]*\).*/\1/p' | tail -n 1)
    hops=$((hops + 1))
    [ -n "$next" ] && [ "$hops" -le 5 ] || return 1
    case $next in
      https://*) address=$next ;;
      /*) address=https://$(printf '%s' "${address#https://}" | cut -d / -f 1)$next ;;
      *) fail "cannot download $1: it redirects to $next, which is not https" ;;
    esac
  done
}

# unpack FILE: as $work/nckubelet
unpack() {
  case $1 in
    *.gz) problem=$(gzip -dc <"$1" 2>&1 >"$work/nckubelet") ;;
    *) problem=$(cp "$1" "$work/nckubelet" 2>&1) ;;
  esac || {
    has_space || problem="no space left: $(free_space)"
    fail "cannot unpack $1: $problem"
  }
}

# Tools report a full file system in many ways; df is reliable.
has_space() {
  [ "$(df -Pk "$bin" | tail -n 1 | tr -s ' ' | cut -d ' ' -f 4)" -gt 1024 ]
}

free_space() {
  df -Pk "$bin" | tail -n 1 | tr -s ' ' | {
    IFS=' ' read -r _ _ _ free _ mount
    echo "$mount has $((free / 1024)) MB free, the executable needs 120 MB"
  }
}

# Reads the version and date that the signature covers, and the signature, if there is a key.
check_signature() {
  release=$(sed -n '1s/^# nckubelet \([^ ]*\) \([0-9TZ:-]*\)$/\2 \1/p' "$work/SHA256SUMS")
  [ -n "$public_key" ] || return 0
  command -v openssl >/dev/null 2>&1 || fail "NCKUBELET_PUBLIC_KEY is set, but openssl is not installed"
  [ -f "$work/SHA256SUMS.sig" ] || fail "NCKUBELET_PUBLIC_KEY is set, but SHA256SUMS has no signature SHA256SUMS.sig"
  openssl dgst -sha256 -verify "$public_key" -signature "$work/SHA256SUMS.sig" "$work/SHA256SUMS" >/dev/null 2>&1 ||
    fail "SHA256SUMS is not signed with the key in $public_key"
  [ -n "$release" ] || fail "SHA256SUMS is signed, but its first line names no version and date"
}

# check_digest FILE NAME
check_digest() {
  expected=$(listed_digest "$2") || fail "SHA256SUMS does not list $2"
  actual=$(sha256 "$1")
  [ "$actual" = "$expected" ] || fail "$2 has the digest $actual, SHA256SUMS says $expected"
  packed_digest=$actual
}

# listed_digest NAME
listed_digest() {
  while read -r digest name_there; do
    if [ "${name_there#\*}" = "$1" ]; then
      echo "$digest"
      return 0
    fi
  done <"$work/SHA256SUMS"
  return 1
}

sha256() {
  if command -v sha256sum >/dev/null 2>&1; then
    sha256sum <"$1" | cut -d ' ' -f 1
  else
    openssl dgst -sha256 -r <"$1" | cut -d ' ' -f 1
  fi
}

# check_runs FILE
check_runs() {
  case $(first_bytes "$1" 0 4) in
    '7f 45 4c 46') [ "$(first_bytes "$1" 18 2)" = "$elf_machine" ] || fail "the executable is not for $(uname -m)" ;;
  esac
  if ! told=$("$1" version 2>&1); then
    case $told in
      *libatomic.so*) fail "libatomic.so.1 is missing: apt-get install libatomic1 (Fedora: dnf install libatomic)" ;;
      *libstdc++.so*) fail "libstdc++.so.6 is missing: apt-get install libstdc++6 (Fedora: dnf install libstdc++)" ;;
    esac
    fail "the new executable does not run here; it needs glibc 2.28 or later: $(printf '%s' "$told" | head -n 1)"
  fi
  new_version=${told#nckubelet }
  new_version=${new_version%% *}
  [ -z "$version" ] || [ "${version#v}" = "$new_version" ] ||
    fail "NCKUBELET_VERSION is $version, but the executable reports: $told"
}

# first_bytes FILE OFFSET COUNT: in hex
first_bytes() {
  od -An -tx1 -j "$2" -N "$3" "$1" | sed 's/^ *//; s/ *$//'
}

# Puts a new kubeconfig into $work/kubeconfig after the API server accepted it. The token stays in the environment.
stage_kubeconfig() {
  [ -n "$kubeconfig$server" ] || return 0
  set -- --output "$work/kubeconfig" --node-name "$node"
  [ -z "$kubeconfig" ] || set -- "$@" --kubeconfig "$kubeconfig"
  [ -z "$server" ] || set -- "$@" --server "$server"
  [ -z "$ca_file" ] || set -- "$@" --ca-file "$ca_file"
  [ -z "$ca_hash" ] || set -- "$@" --ca-hash "$ca_hash"
  told=$("$program" join "$@" 2>&1 >/dev/null) && return 0
  told=$(printf '%s' "$told" | head -n 1)
  fail "cannot use the API server: ${told#nckubelet: }"
}

stage_files() {
  stage_config
  stage_agent_env
  warn_of_another_server
  write_uninstall >"$work/uninstall"
  write_rollback >"$work/rollback"
  case $init in
    systemd) write_systemd_unit >"$work/unit" ;;
    openrc) write_openrc_script >"$work/unit" ;;
  esac
}

# Users edit this file. Only a join changes it, and only the lines about the API server.
stage_config() {
  if [ -f "$etc/config.yaml" ]; then
    cat "$etc/config.yaml"
  else
    echo "# Settings of the agent: any flag of 'nckubelet agent --help', without its dashes."
    echo "# After a change: systemctl restart nckubelet. Apps keep running."
    echo "manifests: /etc/nckubelet/manifests"
    [ -n "$kubeconfig$server" ] || write_first_server
  fi >"$work/config"
  [ -f "$work/kubeconfig" ] || return 0
  sed -e '/^standalone[[:space:]]*:/d' -e '/^server[[:space:]]*:/d' -e '/^kubeconfig[[:space:]]*:/d' \
    "$work/config" >"$work/config.joined"
  end_line "$work/config.joined"
  echo "kubeconfig: /etc/nckubelet/kubeconfig" >>"$work/config.joined"
  mv "$work/config.joined" "$work/config"
}

# end_line FILE: adds a missing newline at the end.
end_line() {
  [ -z "$(tail -c 1 "$1")" ] || echo >>"$1"
}

write_first_server() {
  case " ${NCKUBELET_EXEC:-} " in
    *" --kubeconfig"* | *" --server"* | *" --standalone"*) return 0 ;;
  esac
  if [ -f "$etc/kubeconfig" ]; then
    echo "kubeconfig: /etc/nckubelet/kubeconfig"
  else
    echo "standalone: true"
  fi
}

# Both systemd and a shell read this file; double quotes mean the same to them.
stage_agent_env() {
  if [ -f "$etc/agent.env" ]; then
    cat "$etc/agent.env"
  else
    echo "# Environment of the agent, such as HTTPS_PROXY. NCKUBELET_EXEC has its flags."
  fi >"$work/env"
  [ -n "${NCKUBELET_EXEC+set}" ] || return 0
  sed '/^NCKUBELET_EXEC=/d' "$work/env" >"$work/env.new"
  end_line "$work/env.new"
  # shellcheck disable=SC2016 # these are characters, not expansions
  escaped=$(printf '%s\n' "$NCKUBELET_EXEC" | sed 's/[\\"$`]/\\&/g')
  # Not echo: dash's interprets backslashes.
  [ -z "$NCKUBELET_EXEC" ] || printf 'NCKUBELET_EXEC="%s"\n' "$escaped" >>"$work/env.new"
  mv "$work/env.new" "$work/env"
}

# The environment of the agent overrides the settings that a join writes.
warn_of_another_server() {
  [ -f "$work/kubeconfig" ] || return 0
  for flag in standalone server kubeconfig; do
    variable=$(setting_variable "$flag")
    ! grep -q -e "^[[:space:]]*NCKUBELET_EXEC=.*--$flag" -e "^[[:space:]]*$variable=" "$work/env" ||
      say "warning: $flag in $etc/agent.env overrides the API server that you join now; remove it from that file"
  done
}

write_systemd_unit() {
  cat <<'END'
[Unit]
Description=NC-Kubelet agent
# Not network-online.target: a node without network would wait minutes for it, and so would its apps.
# The apps' scope is only ordered: at a shutdown the agent stops before it, and so can stop its apps.
After=network.target nckubelet-apps.scope
RequiresMountsFor=/usr/local/bin /var/lib/nckubelet /var/log/nckubelet
StartLimitIntervalSec=0

[Service]
Environment=MALLOC_ARENA_MAX=2 NCKUBELET_EXEC=
EnvironmentFile=-/etc/nckubelet/agent.env
ExecStart=/usr/local/bin/nckubelet agent $NCKUBELET_EXEC
ExecReload=/bin/kill -HUP $MAINPID
Restart=always
RestartSec=2
END
  if [ "$(systemd_version)" -ge 254 ]; then
    echo "RestartSteps=5"
    echo "RestartMaxDelaySec=60"
  fi
  echo "# An agent that runs away is killed here, and starts again, before any app is killed for the memory that it took."
  echo "MemoryHigh=$(($(agent_megabytes) * 3 / 4))M"
  echo "MemoryMax=$(agent_megabytes)M"
  cat <<'END'
# At a shutdown of the machine the agent stops its apps first, and asks for as much time as their grace periods need.
TimeoutStopSec=120
NotifyAccess=all
# Apps are not in this service's cgroup, except one that is just starting.
KillMode=process
OOMScoreAdjust=-900
# If a child of the agent is killed for memory, the agent goes on.
OOMPolicy=continue
# The second is the hard limit of apps.
LimitNOFILE=65536:524288
SyslogIdentifier=nckubelet
# Apps inherit namespaces, capabilities and system call filters from the agent, so ProtectSystem=, PrivateTmp=,
# CapabilityBoundingSet= and the like cannot be set. These two end with the agent's cgroup, or apply to every app anyway.
NoNewPrivileges=yes
DevicePolicy=closed

[Install]
WantedBy=multi-user.target
END
}

# The most memory that an agent may take: a quarter of the machine's, 256 MB to 1 GB. It needs less than 100 MB, and a
# kubeconfig reader beside it 120 MB.
agent_megabytes() {
  kilobytes=$(sed -n 's/^MemTotal: *\([0-9]*\) kB$/\1/p' "$root/proc/meminfo" 2>/dev/null) || :
  megabytes=$((${kilobytes:-4194304} / 4096))
  [ "$megabytes" -ge 256 ] || megabytes=256
  [ "$megabytes" -le 1024 ] || megabytes=1024
  echo "$megabytes"
}

# 252 for "systemd 252 (252.39-1~deb12u1)"; 0 if unknown.
systemd_version() {
  number=$(systemctl --version 2>/dev/null | sed -n '1s/^systemd \([0-9][0-9]*\).*/\1/p')
  echo "${number:-0}"
}

write_openrc_script() {
  cat <<'END'
#!/sbin/openrc-run
# shellcheck shell=sh disable=SC2034,SC3045 # openrc-run reads the variables; every sh has ulimit -n

# Splits a line like systemd: quotes group words, a backslash escapes the next character, nothing else is special. Prints
# each word quoted for the shell. Not xargs: busybox's drops empty words.
quote_words() {
  awk -v q="'" '{
    word = quote = open = ""
    for (i = 1; i <= length($0) + 1; i++) {
      c = substr($0, i, 1)
      if (c == "" || (quote == "" && (c == " " || c == "\t"))) {
        if (open) printf "%s ", q word q
        word = open = ""
        continue
      }
      open = "yes"
      if (quote == "" && (c == "\"" || c == q)) quote = c
      else if (c == quote) quote = ""
      else {
        if (c == "\\" && quote != q) c = substr($0, ++i, 1)
        word = word (c == q ? q "\\" q q : c)
      }
    }
  }'
}

name="NC-Kubelet agent"
if [ -f /etc/nckubelet/agent.env ]; then
  set -a
  . /etc/nckubelet/agent.env
  set +a
fi
export MALLOC_ARENA_MAX=2
# OpenRC keeps the agent in /sys/fs/cgroup/nckubelet, so apps there could have no limits.
export NCKUBELET_CGROUP_ROOT="${NCKUBELET_CGROUP_ROOT:-/sys/fs/cgroup/nckubelet-apps}"
supervisor=supervise-daemon
command=/usr/local/bin/nckubelet
# OpenRC evaluates this as shell.
command_args="agent $(printf '%s\n' "${NCKUBELET_EXEC:-}" | quote_words)"
respawn_delay=2
respawn_max=0
# At a shutdown of the machine the agent stops its apps first, however long their grace periods are.
retry="TERM/1800"
output_log=/var/log/nckubelet.log
error_log=/var/log/nckubelet.log
# Apps outlive the agent.
rc_cgroup_cleanup="no"
extra_started_commands="reload"
END
  echo "# An agent that runs away is killed here, and starts again, before any app is killed for the memory that it took."
  echo "rc_cgroup_settings=\"memory.max $(agent_megabytes)M\""
  cat <<'END'

# Not need: these names differ between distributions, and a service that needs a missing one never starts.
depend() {
  after localmount net firewall clock
  want cgroups
}

reload() {
  ebegin "Reloading $name"
  supervise-daemon "$RC_SVCNAME" --signal HUP
  eend $?
}

# Not rc_ulimit: dash sets one limit at a time. The second is the hard limit of apps.
start_pre() {
  if ! ulimit -n 65536 || ! ulimit -Hn 524288; then
    ewarn "cannot raise the limit of open files: $(ulimit -n), for apps at most $(ulimit -Hn)"
  fi
}
END
}

# Functions that install.sh shares with the scripts that it installs are text, which both evaluate.
write_setting_functions() {
  cat <<'END'

# agent_setting NAME: prints "=" and the value, which may be empty; nothing if it is not set. As for the agent, flags
# override the environment, and that overrides config.yaml. Quotes are not part of the value.
agent_setting() {
  variable=$(setting_variable "$1")
  value=$(sed -n "s/^[[:space:]]*NCKUBELET_EXEC=.*--$1[= ]\([^ ]*\).*/=\1/p" "$etc/agent.env" 2>/dev/null | tail -n 1)
  [ -n "$value" ] || value=$(sed -n "s/^[[:space:]]*$variable=/=/p" "$etc/agent.env" 2>/dev/null | tail -n 1)
  [ -n "$value" ] || value=$(sed -n "s/^$1[[:space:]]*:\([^#]*\).*/=\1/p" "$etc/config.yaml" 2>/dev/null | tail -n 1)
  printf '%s\n' "$value" | tr -d "\"'\\\\\r" | sed 's/^=[[:space:]]*/=/; s/[[:space:]]*$//'
}

# setting_variable NAME: the environment variable of a setting.
setting_variable() {
  echo "NCKUBELET_$1" | tr 'a-z-' 'A-Z_'
}
END
}

write_answer_functions() {
  cat <<'END'

# The agent that the service manager runs answers on its socket. Its port proves nothing: any user can open one.
agent_answers() (
  if [ -d "$root/run/systemd/system" ]; then
    systemctl is-active --quiet nckubelet.service || exit 1
  else
    rc-service nckubelet status >/dev/null 2>&1 || exit 1
  fi
  socket=$(agent_setting socket)
  socket=${socket#=}
  case ${socket:=/run/nckubelet/nckubelet.sock} in
    /*) ;;
    *) socket=/etc/nckubelet/$socket ;;
  esac
  "$bin/nckubelet" ps --socket "$socket" >/dev/null 2>&1
)
END
}

write_rollback() {
  cat <<'END'
#!/bin/sh
# Restores the executable from before the last upgrade and restarts the agent; apps keep running. Run it again to go
# forward.

main() {
  set -eu
  root=${NCKUBELET_TEST_ROOT:-}
  bin=$root/usr/local/bin
  etc=$root/etc/nckubelet
  [ "$(id -u)" = 0 ] || fail "must run as root"
  [ -x "$bin/nckubelet.previous" ] || fail "nothing to go back to: no $bin/nckubelet.previous"
  # The current executable. It stays until the restart, so that the next run completes a killed one.
  now=$bin/.nckubelet.now
  rm -f "$bin/.nckubelet.then"
  if [ ! -f "$now" ]; then
    told=$("$bin/nckubelet.previous" version 2>&1) || fail "$bin/nckubelet.previous does not run: $told"
    ln "$bin/nckubelet" "$now"
  fi
  ! cmp -s "$bin/nckubelet" "$now" || put "$bin/nckubelet.previous" "$bin/nckubelet"
  cmp -s "$bin/nckubelet.previous" "$now" || put "$now" "$bin/nckubelet.previous"
  if [ -d "$root/run/systemd/system" ]; then
    systemctl restart nckubelet.service
  else
    rc-service nckubelet restart
  fi
  rm -f "$now"
  tries=0
  until agent_answers; do
    tries=$((tries + 1))
    [ "$tries" -lt 60 ] || fail "the agent does not respond; see its log"
    sleep 1
  done
  echo "nckubelet-rollback: now running $("$bin/nckubelet" version)"
}

# put FILE TARGET: a link, then a rename, so that a complete executable has the name at every moment.
put() {
  ln "$1" "$bin/.nckubelet.then"
  mv -f "$bin/.nckubelet.then" "$2"
}

fail() {
  echo "nckubelet-rollback: $*" >&2
  exit 1
}
END
  write_setting_functions
  write_answer_functions
  cat <<'END'

{ main "$@"; }
END
}

write_uninstall() {
  cat <<'END'
#!/bin/sh
# Stops all apps and the agent and removes NC-Kubelet from this machine. Asks whether to remove state, logs and settings;
# --purge removes them, --keep keeps them without asking. Folders from the settings always stay.

main() {
  set -eu
  root=${NCKUBELET_TEST_ROOT:-}
  etc=$root/etc/nckubelet
  kept="/var/lib/nckubelet /var/log/nckubelet /etc/nckubelet"
  [ "$(id -u)" = 0 ] || fail "must run as root"
  state=$(folder_setting state-dir /var/lib/nckubelet)
  logs=$(folder_setting log-dir /var/log/nckubelet)
  case ${1:-} in
    --purge) purge=yes ;;
    --keep) purge=no ;;
    '') ask ;;
    *) fail "unknown option \"$1\": use --purge or --keep" ;;
  esac
  # The agent first: it would restart the apps.
  if [ -d "$root/run/systemd/system" ]; then remove_from_systemd; else remove_from_openrc; fi
  stop_apps
  remove_cgroups
  remove_environments
  remove_folder "$root/run/nckubelet"
  rm -rf "$root"/usr/local/bin/.nckubelet-install.* "$root"/usr/local/bin/nckubelet-launcher-* "$root/run/nckubelet-install.lock"
  if [ "$purge" = yes ]; then
    for folder in $kept; do remove_folder "$root$folder"; done
    rm -rf "$root/var/log/nckubelet.log" "$root/etc/systemd/system/nckubelet.service.d"
  fi
  cd "$root/usr/local/bin"
  rm -f nckubelet nckubelet.previous .nckubelet.now .nckubelet.then nckubelet-rollback.sh nckubelet-uninstall.sh
  report_result
}

# remove_folder FOLDER: if it is a mount point, or has some below it, it is emptied and they stay.
remove_folder() {
  problem=$(rm -rf "$1" 2>&1) && return 0
  mounts=$(cut -d ' ' -f 5 "$root/proc/self/mountinfo" | grep -e "^$1\$" -e "^$1/" | tr '\n' ' ')
  [ -n "$mounts" ] && [ -z "$(find "$1" ! -type d)" ] || fail "cannot remove $1: $problem"
  say "emptied $1; these mount points stay: $mounts"
}

# folder_setting NAME DEFAULT: without a trailing slash. A relative path starts at the folder of the settings.
folder_setting() {
  folder=$(agent_setting "$1")
  folder=${folder#=}
  case ${folder:=$2} in
    /*) ;;
    *) folder=/etc/nckubelet/$folder ;;
  esac
  echo "${folder%/}"
}

ask() {
  purge=no
  if (: </dev/tty) 2>/dev/null; then
    printf 'Remove state, logs and settings too (%s)? [y/N] ' "$kept" >/dev/tty
    read -r answer </dev/tty || answer=
    case $answer in
      [yY]*) purge=yes ;;
    esac
  fi
}

# A folder that the user set may contain other things, so it stays.
report_result() {
  elsewhere=
  for folder in "$state" "$logs"; do
    case " $kept " in
      *" $folder "*) ;;
      *) [ ! -e "$root$folder" ] || elsewhere="$elsewhere $folder" ;;
    esac
  done
  if [ "$purge" = no ]; then
    say "done; kept: $kept$elsewhere"
  elif [ -n "$elsewhere" ]; then
    say "done; kept, since the settings name them:$elsewhere"
  elif [ -z "$running" ]; then
    say "removed NC-Kubelet from this machine"
  fi
  say "if the node was in a cluster: kubectl delete node $(uname -n)"
  [ -z "$running" ] || fail "cannot stop these processes of apps: $running"
}

remove_from_systemd() {
  systemctl disable --quiet --now nckubelet.service 2>/dev/null || :
  systemctl stop nckubelet-apps.scope 2>/dev/null || :
  systemctl stop nckubelet.slice 2>/dev/null || :
  rm -f "$root/etc/systemd/system/nckubelet.service"
  systemctl daemon-reload
  systemctl reset-failed nckubelet.service nckubelet-apps.scope 2>/dev/null || :
}

remove_from_openrc() {
  rc-service nckubelet stop 2>/dev/null || :
  rc-update del nckubelet default 2>/dev/null || :
  rm -f "$root/etc/init.d/nckubelet"
}

# All running apps, whatever their cgroup. An app that ignores SIGTERM has 30 seconds.
stop_apps() {
  leaves=$(run_cgroups)
  signal_apps TERM
  tries=0
  while [ -n "$(app_processes)" ] && [ "$tries" -lt 30 ]; do
    tries=$((tries + 1))
    sleep 1
  done
  tries=0
  while [ -n "$(app_processes)" ] && [ "$tries" -lt 10 ]; do
    tries=$((tries + 1))
    signal_apps KILL
    sleep 1
  done
  running=$(app_processes | tr '\n' ' ')
}

# The cgroup of each run, as the agent recorded it: the root may have been another one then. A recorded path counts only if
# it can be the cgroup of that run.
run_cgroups() {
  for file in "$root$state"/runs/*/inside.json; do
    [ -f "$file" ] || continue
    run=${file%/inside.json}
    leaf=$(sed -n 's/.*"leaf":"\([^"]*\)".*/\1/p' "$file")
    case $leaf in
      */../*) ;;
      /sys/fs/cgroup/*/"${run##*/}") [ ! -f "$root$leaf/cgroup.procs" ] || echo "$root$leaf" ;;
    esac
  done
}

signal_apps() {
  app_processes | while read -r pid; do
    kill -s "$1" "$pid" 2>/dev/null || :
  done
}

# Processes of other namespaces are listed as 0, which kill takes for this process group.
app_processes() {
  { listed_processes && marked_processes; } | sed '/^[1-9][0-9]*$/!d' | sort -u
}

listed_processes() (
  IFS='
'
  set -f
  # shellcheck disable=SC2086 # one on each line
  find $leaves "$root/sys/fs/cgroup/nckubelet-apps" -name cgroup.procs -exec cat {} + 2>/dev/null || :
)

# An app without a cgroup has its run in the environment; the state folder lists the runs of this agent.
marked_processes() {
  grep -ls NCAPP_RUN= "$root"/proc/[0-9]*/environ | while IFS= read -r file; do
    run=$(cat "$file" 2>/dev/null | tr '\0' '\n' | sed -n 's/^NCAPP_RUN=\([0-9a-z]*-[0-9a-f]*\)$/\1/p' | head -n 1)
    [ -z "$run" ] || [ ! -d "$root$state/runs/$run" ] || basename "${file%/environ}"
  done
}

# The kernel removes only empty cgroups, so others keep theirs. A cgroup from cgroup-root stays.
remove_cgroups() {
  printf '%s\n' "$leaves" | while IFS= read -r leaf; do
    [ -d "$leaf" ] || continue
    find "$leaf" -depth -type d -exec rmdir {} \; 2>/dev/null || :
    rmdir "${leaf%/*}" 2>/dev/null || :
  done
  printf '%s\n' "$leaves" | sed -n 's,/[^/]*/[^/]*$,,p' | sort -u | while IFS= read -r apps; do
    # The launcher ends shortly after its app.
    tries=0
    while [ -d "$apps/keeper" ] && ! rmdir "$apps/keeper" 2>/dev/null && [ "$tries" -lt 5 ]; do
      tries=$((tries + 1))
      sleep 1
    done
    rmdir "$apps" 2>/dev/null || :
    rmdir "${apps%/*}/keeper" "${apps%/*}/agent" 2>/dev/null || :
  done
  apps=$root/sys/fs/cgroup/nckubelet-apps
  [ ! -d "$apps" ] || find "$apps" -depth -type d -exec rmdir {} \; 2>/dev/null || :
}

# The values of Secrets are next to the agent's socket.
remove_environments() {
  for file in "$root$state"/runs/*/inside.json; do
    [ -f "$file" ] || continue
    run=${file%/inside.json}
    environment=$(sed -n 's/.*"environment":"\([^"]*\)".*/\1/p' "$file")
    case $environment in
      */../*) ;;
      /*/private-*/"${run##*/}")
        rm -f "$root$environment" "$root${environment%/*}"/.values-*
        rmdir "$root${environment%/*}" 2>/dev/null || :
        ;;
    esac
  done
}

say() {
  echo "nckubelet-uninstall: $*"
}

fail() {
  echo "nckubelet-uninstall: $*" >&2
  exit 1
}
END
  write_setting_functions
  cat <<'END'

{
  main "$@"
  exit
}
END
}

# Changes to the machine start here.
put_in_place() {
  make_folder "$etc"
  make_folder "$etc/manifests"
  put "$work/uninstall" "$bin/nckubelet-uninstall.sh" 755
  put "$work/rollback" "$bin/nckubelet-rollback.sh" 755
  # The agent reads these when it starts.
  if [ -f "$etc/config.yaml" ]; then mode=kept; else mode=644; fi
  put_for_agent "$work/config" "$etc/config.yaml" "$mode"
  put_for_agent "$work/env" "$etc/agent.env" 600
  [ ! -f "$work/kubeconfig" ] || put_for_agent "$work/kubeconfig" "$etc/kubeconfig" 600
  case $init in
    systemd) put_for_agent "$work/unit" "$root/etc/systemd/system/nckubelet.service" 644 ;;
    openrc) put_for_agent "$work/unit" "$root/etc/init.d/nckubelet" 755 ;;
  esac
  put_binary
}

make_folder() {
  [ -d "$1" ] || problem=$(mkdir -p "$1" 2>&1) || fail "cannot make $1: ${problem##*: }"
}

# put FILE TARGET MODE: installs by rename, unless TARGET is up to date. The mode "kept" is that of TARGET.
put() {
  ! is_put "$@" || return 0
  problem=$(put_beside "$@" 2>&1 && mv -f "$2.new" "$2" 2>&1) || fail "cannot write $2: ${problem##*: }"
}

put_beside() {
  if [ "$3" = kept ]; then
    cp -p "$2" "$2.new" && cat "$1" >"$2.new"
  else
    cp "$1" "$2.new" && chmod "$3" "$2.new"
  fi
}

put_for_agent() {
  ! is_put "$@" || return 0
  # If this run ends before the restart, the next run sees this file.
  : >"$etc/.restart-needed"
  # Never readable by others, not even while writing.
  (umask 077 && put "$@") || exit 1
}

is_put() {
  [ -f "$2" ] && cmp -s "$1" "$2" || return 1
  [ "$3" = kept ] || [ -n "$(find "$2" -perm "$3")" ]
}

put_binary() {
  # A killed rollback: the agent may still run the other executable.
  if [ -f "$bin/.nckubelet.now" ]; then
    : >"$etc/.restart-needed"
    rm -f "$bin/.nckubelet.now" "$bin/.nckubelet.then"
  fi
  if [ -f "$work/nckubelet" ]; then
    : >"$etc/.restart-needed"
    if [ -f "$bin/nckubelet" ] && ! cmp -s "$bin/nckubelet" "$bin/nckubelet.previous"; then
      ln "$bin/nckubelet" "$work/previous" 2>/dev/null || cp -p "$bin/nckubelet" "$work/previous"
      mv -f "$work/previous" "$bin/nckubelet.previous"
    fi
    mv -f "$work/nckubelet" "$bin/nckubelet"
  fi
  printf '%s\n' "$packed_digest $(sha256 "$bin/nckubelet")" "$release" >"$work/installed"
  put "$work/installed" "$etc/.installed" 644
}

run_service() {
  restarted=no
  case $init in
    systemd) run_by_systemd ;;
    openrc) run_by_openrc ;;
  esac
  wait_until_healthy
  rm -f "$etc/.restart-needed"
}

run_by_systemd() {
  systemctl is-enabled --quiet nckubelet.service 2>/dev/null || must systemctl enable --quiet nckubelet.service
  if [ -f "$etc/.restart-needed" ]; then
    must systemctl daemon-reload
    start_by_systemd restart
  elif ! systemctl is-active --quiet nckubelet.service; then
    start_by_systemd start
  fi
}

# start_by_systemd VERB: clears failures from before this run.
start_by_systemd() {
  restarted=yes
  systemctl reset-failed nckubelet.service 2>/dev/null || :
  must systemctl "$1" nckubelet.service
}

run_by_openrc() {
  must rc-update add nckubelet default
  if [ -f "$etc/.restart-needed" ]; then
    restarted=yes
    must rc-service nckubelet restart
  elif ! rc-service nckubelet status >/dev/null 2>&1; then
    restarted=yes
    must rc-service nckubelet start
  fi
}

# must COMMAND...: runs it without the lock, which a daemon would keep.
must() {
  told=$("$@" 2>&1 9<&-) || fail "$*: $(printf '%s' "$told" | tail -n 1)"
}

wait_until_healthy() {
  tries=0
  until agent_answers; do
    tries=$((tries + 1))
    if [ "$tries" -ge 90 ] || keeps_failing; then
      say "the agent does not become healthy; its last log lines:"
      last_log_lines >&2
      [ ! -f "$bin/nckubelet.previous" ] || say "to go back to the previous version: nckubelet-rollback.sh"
      exit 1
    fi
    sleep 1
  done
}

keeps_failing() {
  [ "$init" = systemd ] || return 1
  restarts=$(systemctl show -p NRestarts nckubelet.service 2>/dev/null)
  restarts=${restarts#NRestarts=}
  [ "${restarts:-0}" -ge 3 ]
}

last_log_lines() {
  case $init in
    systemd) journalctl -u nckubelet.service -n 12 --no-pager -o cat ;;
    openrc) tail -n 12 "$root/var/log/nckubelet.log" ;;
  esac
}

print_next_steps() {
  case $init in
    systemd) see="systemctl status nckubelet" ;;
    openrc) see="rc-service nckubelet status" ;;
  esac
  told=$("$bin/nckubelet" version)
  if [ "$restarted" = no ]; then
    say "$told is installed and running; nothing to do"
    return 0
  fi
  say "$told is running on this node. Next:"
  cat <<END
  nckubelet ps                                  list the apps of this node
  nckubelet run ./script.sh --cpu 20 --mem 10   run an app with 20% of the CPU and 10% of the memory
  $see                    check the agent
END
}

say() {
  echo "install: $*"
}

fail() {
  echo "install: $*" >&2
  exit 1
}

# A cut anywhere in this line is a syntax error. Programs that main starts do not read the rest of the download.
{ main "$@" </dev/null; }
