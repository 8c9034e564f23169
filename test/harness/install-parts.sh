#!/usr/bin/env bash
# Installs the real parts that the tests run against, on a Debian 12 machine as root:
#   control-plane  etcd, kube-apiserver, kubectl
#   guest          User-Mode Linux and a static busybox
#   systemd-guest  a disk with Debian and systemd for User-Mode Linux to boot
# Usage: install-parts.sh [PART...]; without an argument: control-plane and guest.
#
# Guarantees: a second run does nothing and prints nothing. What is built lands in the cache folder by one
# rename, so a cut run leaves no half part. Two runs at once wait for each other. The machine's apt sources
# stay as they are, and no daemon is installed: etcd and Go are unpacked, not installed.
# Caveat: the API server is built from Debian's source package, which takes minutes on a small machine.
# Where KUBEBUILDER_ASSETS names a folder with kube-apiserver and etcd, that is used and nothing is built.
set -euo pipefail

CACHE=${NCKUBELET_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/nckubelet}
# Part of the path in parts.ts too: raise both when the recipe changes.
CONTROL_PLANE=$CACHE/control-plane-1.20.2-3
SYSTEMD_DISK=$CACHE/systemd-bookworm-2.img
KUBERNETES_VERSION=1.20.2

main() {
  local part
  [ $# -gt 0 ] || set -- control-plane guest
  for part in "$@"; do
    case $part in
      control-plane | guest | systemd-guest) ;;
      *) fail "unknown part \"$part\": use control-plane, guest or systemd-guest" 2 ;;
    esac
  done
  mkdir -p "$CACHE"
  for part in "$@"; do
    exec 9>"$CACHE/.$part.lock"
    flock -n 9 || { say "$part: waiting for another run that installs it" && flock 9; }
    case $part in
      control-plane) install_control_plane ;;
      guest) install_guest ;;
      systemd-guest) install_guest && install_systemd_disk ;;
    esac
  done
}

install_control_plane() {
  need_packages control-plane openssl:openssl setpriv:util-linux
  if [ -n "${KUBEBUILDER_ASSETS:-}" ]; then
    local name
    for name in kube-apiserver etcd; do
      [ -x "$KUBEBUILDER_ASSETS/$name" ] || fail "control-plane: KUBEBUILDER_ASSETS=$KUBEBUILDER_ASSETS has no $name"
    done
    return
  fi
  [ ! -x "$CONTROL_PLANE/kube-apiserver" ] || return 0
  need_packages control-plane make:make rsync:rsync dpkg-source:dpkg-dev
  WORK=$(mktemp -d "$CACHE/build.XXXXXX")
  trap 'rm -rf "$WORK"' EXIT
  mkdir "$WORK/out"

  # Unpacked, not installed: the package would start an etcd on the machine, and enable it for every boot.
  say "control-plane: fetching etcd and Go"
  unpack "$WORK/root" etcd-server golang-1.19-go golang-1.19-src golang-github-modern-go-reflect2-dev
  cp "$WORK/root/usr/bin/etcd" "$WORK/out/"

  say "control-plane: fetching the source of Kubernetes $KUBERNETES_VERSION"
  fetch_kubernetes_source "$WORK/source"
  build_kubernetes "$WORK/source" "$WORK/root" "$WORK/out"
  rm -rf "$CONTROL_PLANE"
  mv "$WORK/out" "$CONTROL_PLANE"
  rm -rf "$WORK"
  trap - EXIT
  say "control-plane: ready in $CONTROL_PLANE"
}

# The deb-src entries are the machine's own entries with another type, read from a private folder.
fetch_kubernetes_source() {
  local target=$1 private=$1.apt file
  mkdir -p "$target" "$private/parts" "$private/lists/partial" "$private/cache/archives/partial"
  for file in /etc/apt/sources.list.d/*.sources; do
    [ ! -f "$file" ] || sed 's/^Types:.*/Types: deb-src/' "$file" >"$private/parts/$(basename "$file")"
  done
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [ ! -f "$file" ] || sed -n 's/^deb \(.*\)/deb-src \1/p' "$file" >"$private/parts/$(basename "$file" .list).list"
  done
  local options=(-q -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$private/parts"
    -o "Dir::State::lists=$private/lists" -o "Dir::Cache=$private/cache" -o APT::Sandbox::User=root)
  # A third-party entry may have no sources and fail; only the download below must succeed.
  apt-get "${options[@]}" update >"$private/log" 2>&1 || true
  (cd "$target" && apt-get "${options[@]}" source kubernetes >>"$private/log" 2>&1) ||
    fail_with_log "$private/log" "control-plane: cannot fetch Debian's source package kubernetes; set KUBEBUILDER_ASSETS to a folder with kube-apiserver and etcd"
  grep -q "$KUBERNETES_VERSION-" <<<"$(echo "$target"/*.dsc)" ||
    fail "control-plane: this Debian has $(basename "$target"/*.dsc), the recipe here is for $KUBERNETES_VERSION; set KUBEBUILDER_ASSETS"
}

build_kubernetes() {
  local source=$1 root=$2 out=$3 tree log=$1.log
  tree=$(echo "$source"/kubernetes-*/)
  # The vendored reflect2 predates Go 1.18: the server would crash on the first custom object.
  local fixed=$root/usr/share/gocode/src/github.com/modern-go/reflect2 vendored=$tree/vendor/github.com/modern-go/reflect2
  rm -f "$vendored"/*.go "$vendored"/*.s
  find "$fixed" -maxdepth 1 \( -name '*.go' -o -name '*.s' \) ! -name '*_test.go' -exec cp {} "$vendored/" \;
  # Since Go 1.16 a check in here takes "" and 0 for null and refuses them (kubernetes/kubernetes#99804).
  local check=$tree/vendor/k8s.io/kube-openapi/pkg/validation/validate/type.go
  sed -i 's/if data == nil || reflect\.DeepEqual(.*) {/if data == nil {/' "$check"
  grep -q 'if data == nil {' "$check" || fail "control-plane: $check is not as this recipe knows it"

  mkdir -p "$tree/.go/src/k8s.io"
  ln -s "$tree" "$tree/.go/src/k8s.io/kubernetes"
  # The source package has no git history to take its version from.
  cat >"$source/version" <<END
KUBE_GIT_COMMIT=debian
KUBE_GIT_TREE_STATE=archive
KUBE_GIT_VERSION=v$KUBERNETES_VERSION
KUBE_GIT_MAJOR=${KUBERNETES_VERSION%%.*}
KUBE_GIT_MINOR=$(cut -d. -f2 <<<"$KUBERNETES_VERSION")
END
  say "control-plane: building kube-apiserver and kubectl $KUBERNETES_VERSION (about 6 minutes on 2 cores)"
  (
    cd "$tree/.go/src/k8s.io/kubernetes"
    export GOROOT=$root/usr/lib/go-1.19 GOPATH=$tree/.go GOCACHE=$source/go-cache GOTMPDIR=$source GO111MODULE=off CGO_ENABLED=0 GOFLAGS=
    export PATH=$GOROOT/bin:$PATH KUBE_GIT_VERSION_FILE=$source/version
    make WHAT="cmd/kube-apiserver cmd/kubectl"
  ) >"$log" 2>&1 9>&- || fail_with_log "$log" "control-plane: the build of Kubernetes failed"
  cp -L "$tree/_output/bin/kube-apiserver" "$tree/_output/bin/kubectl" "$out/"
}

install_guest() {
  [ "$(uname -m)" = x86_64 ] || fail "guest: User-Mode Linux runs on x86_64 only, this is $(uname -m)"
  need_packages guest linux.uml:user-mode-linux busybox:busybox-static setpriv:util-linux
}

install_systemd_disk() {
  [ ! -e "$SYSTEMD_DISK" ] || return 0
  need_packages systemd-guest debootstrap:debootstrap mkfs.ext4:e2fsprogs
  [ "$(id -u)" = 0 ] || fail "systemd-guest: debootstrap needs root"
  local mirror
  mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Codename: bookworm' | head -n 1)
  WORK=$(mktemp -d "$CACHE/debootstrap.XXXXXX")
  trap 'rm -rf "$WORK"' EXIT
  say "systemd-guest: debootstrap of Debian bookworm (about a minute)"
  debootstrap --variant=minbase --include=systemd,systemd-sysv,dbus,iproute2,curl,ca-certificates,procps \
    bookworm "$WORK/root" ${mirror:+"$mirror"} >"$WORK/log" 2>&1 9>&- ||
    fail_with_log "$WORK/log" "systemd-guest: debootstrap failed"
  prepare_systemd_root "$WORK/root"
  truncate -s 2G "$WORK/disk"
  mkfs.ext4 -q -F -d "$WORK/root" "$WORK/disk" || fail "systemd-guest: mkfs.ext4 failed"
  mv "$WORK/disk" "$SYSTEMD_DISK"
  rm -rf "$WORK"
  trap - EXIT
  say "systemd-guest: ready in $SYSTEMD_DISK"
}

# The disk only knows how to reach the job folder of a test on the host; what is done there is in that folder.
prepare_systemd_root() {
  local root=$1 unit
  rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/*
  echo guest >"$root/etc/hostname"
  # Written anew at the first boot, as on a real machine.
  : >"$root/etc/machine-id"
  # Nobody logs in, and nothing of its own may wake up in the middle of a test.
  for unit in getty@.service modprobe@.service e2scrub_reap.service \
    {apt-daily,apt-daily-upgrade,dpkg-db-backup,e2scrub_all,fstrim}.timer; do
    ln -sf /dev/null "$root/etc/systemd/system/$unit"
  done
  cat >"$root/usr/local/sbin/test-job" <<'END'
#!/bin/sh
mkdir -p /run/job
mount -t hostfs -o "$(sed -n 's/.*nckubelet_job=\([^ ]*\).*/\1/p' /proc/cmdline)" job /run/job
exec sh /run/job/init
END
  chmod 755 "$root/usr/local/sbin/test-job"
  cat >"$root/etc/systemd/system/test-job.service" <<'END'
[Unit]
Description=The job of a test
After=multi-user.target
[Service]
# Not oneshot: the machine is still "starting" as long as such a unit runs.
Type=exec
ExecStart=/usr/local/sbin/test-job
END
  mkdir -p "$root/etc/systemd/system/multi-user.target.wants"
  ln -s ../test-job.service "$root/etc/systemd/system/multi-user.target.wants/test-job.service"
}

# need_packages PART COMMAND:PACKAGE... installs the packages whose command is missing.
need_packages() {
  local part=$1 pair missing=()
  shift
  for pair in "$@"; do
    command -v "${pair%%:*}" >/dev/null || missing+=("${pair#*:}")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  command -v apt-get >/dev/null || fail "$part: ${missing[*]} missing, and there is no apt-get here to install from"
  [ "$(id -u)" = 0 ] || fail "$part: ${missing[*]} missing; installing takes root"
  say "$part: installing ${missing[*]}"
  fresh_package_lists
  local log
  log=$(mktemp)
  DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 install --no-install-recommends \
    "${missing[@]}" </dev/null >"$log" 2>&1 9>&- || fail_with_log "$log" "$part: apt-get install ${missing[*]} failed"
  rm -f "$log"
}

# unpack DIR PACKAGE... puts the files of Debian packages under DIR, without installing them.
unpack() {
  local dir=$1 log=$1.log deb
  shift
  command -v apt-get >/dev/null || fail "control-plane: there is no apt-get here; set KUBEBUILDER_ASSETS to a folder with kube-apiserver and etcd"
  fresh_package_lists
  mkdir -p "$dir/.debs"
  (cd "$dir/.debs" && apt-get -q -o APT::Sandbox::User=root download "$@") >"$log" 2>&1 ||
    fail_with_log "$log" "control-plane: cannot download $*"
  for deb in "$dir"/.debs/*.deb; do dpkg-deb -x "$deb" "$dir"; done
  rm -r "$dir/.debs"
}

# Once per run, and only as root: without root the lists of the machine are taken as they are.
fresh_package_lists() {
  [ -z "${LISTS_ARE_FRESH:-}" ] && [ "$(id -u)" = 0 ] || return 0
  apt-get -q -o DPkg::Lock::Timeout=300 update >/dev/null 2>&1 || say "apt-get update failed; going on with the lists there are"
  LISTS_ARE_FRESH=yes
}

say() { echo "install-parts: $*"; }

fail() {
  echo "install-parts: $1" >&2
  exit "${2:-1}"
}

fail_with_log() {
  tail -n 30 "$1" >&2
  fail "$2"
}

main "$@"
