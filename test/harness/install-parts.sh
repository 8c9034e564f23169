#!/usr/bin/env bash
# Installs the real parts that the tests run against, on a Debian 12 machine as root:
#   control-plane  etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kubectl: those that KUBEBUILDER_ASSETS
#                  names, else those in the cache, else a download from Kubernetes' release site, else control-plane-oldest
#   control-plane-oldest
#                  the same, built from Debian's source package
#   guest          User-Mode Linux, of Debian testing and of Debian 12, each booted once, and a static busybox
#   systemd-guest  disks with Debian for User-Mode Linux to boot, one with systemd, one with OpenRC
#   chromium       a browser for the dashboard's tests
#   promtool       Prometheus' own checker of metrics and rules
#   compilers      C compilers for the native launcher, for amd64 and arm64, and QEMU's user mode to run the latter
#   shells         zsh and fish, for the completion of commands
#   lua            Lua, for the health script of Argo CD
#   fuse           a FUSE file system, for mounts that hang
#   tmux           a terminal, for screens with keys
# Usage: install-parts.sh [PART...]; without an argument: control-plane and guest.
#
# Guarantees: a second run does nothing, and prints nothing but which control plane it found. What is built lands in the cache folder
# by one rename, so a cut run leaves no half part. Two runs at once wait for each other. The machine's apt sources
# stay as they are, and no daemon is installed: etcd, Go, Prometheus and kernels are unpacked, not installed.
# Caveat: Debian's Kubernetes is built from source, which takes minutes on a small machine.
set -euo pipefail

CACHE=${NCKUBELET_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/nckubelet}
CHECKOUT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
NODE=$CHECKOUT/node_modules/.bin/node
# Part of the paths in parts.ts too: raise both when the recipe changes.
CONTROL_PLANE=$CACHE/control-plane-1.20.2-4
CURRENT_VERSION=$(sed -n 's/^export const currentVersion = "\(.*\)";$/\1/p' "$CHECKOUT/test/harness/kubernetes-version.ts")
CURRENT_CONTROL_PLANE=$CACHE/control-plane-$CURRENT_VERSION
SYSTEMD_DISK=$CACHE/systemd-bookworm-3.img
OPENRC_DISK=$CACHE/openrc-bookworm-1.img
# Part of the path in tools/build/launcher.ts too.
MUSL_ARM64=$CACHE/musl-arm64-1.2.3
PROMTOOL_FILE=$CACHE/promtool-bookworm-1
KUBERNETES_VERSION=1.20.2
KUBERNETES_PROGRAMS=(kube-apiserver kube-controller-manager kube-scheduler kubectl)
PARTS="control-plane control-plane-oldest guest systemd-guest chromium promtool fuse compilers shells lua tmux"

main() {
  local part
  [ $# -gt 0 ] || set -- control-plane guest
  for part in "$@"; do
    [[ " $PARTS " == *" $part "* ]] || fail "unknown part \"$part\": use one of $PARTS" 2
  done
  mkdir -p "$CACHE"
  for part in "$@"; do
    exec 9>"$CACHE/.$part.lock"
    flock -n 9 || { say "$part: waiting for another run that installs it" && flock 9; }
    case $part in
      control-plane) install_control_plane ;;
      control-plane-oldest) build_control_plane ;;
      guest) install_guest ;;
      systemd-guest)
        install_guest
        install_disk "$SYSTEMD_DISK" systemd
        install_disk "$OPENRC_DISK" openrc
        ;;
      chromium) [ -x "${CHROMIUM:-}" ] || need_packages chromium chromium:chromium ;;
      promtool) install_promtool ;;
      compilers) install_compilers ;;
      shells) need_packages shells zsh:zsh fish:fish ;;
      lua) need_packages lua lua5.1:lua5.1 ;;
      fuse) need_packages fuse bindfs:bindfs fusermount3:fuse3 ;;
      tmux) need_packages tmux tmux:tmux ;;
    esac
  done
}

install_control_plane() {
  local name reason
  need_packages control-plane openssl:openssl setpriv:util-linux
  if [ -n "${KUBEBUILDER_ASSETS:-}" ]; then
    for name in kube-apiserver etcd; do
      [ -x "$KUBEBUILDER_ASSETS/$name" ] || fail "control-plane: KUBEBUILDER_ASSETS=$KUBEBUILDER_ASSETS has no $name"
    done
    say "control-plane: the one in KUBEBUILDER_ASSETS=$KUBEBUILDER_ASSETS"
  elif [ -x "$CURRENT_CONTROL_PLANE/kube-apiserver" ]; then
    [ -x "$CURRENT_CONTROL_PLANE/etcd" ] || install_etcd "$CURRENT_CONTROL_PLANE"
    say "control-plane: Kubernetes $CURRENT_VERSION, from the cache"
  elif reason=$(download_control_plane); then
    say "control-plane: Kubernetes $CURRENT_VERSION, downloaded from Kubernetes' release site"
  else
    build_control_plane
    say "control-plane: Kubernetes $KUBERNETES_VERSION, built from Debian's source, because $CURRENT_VERSION $reason"
  fi
}

# Prints the reason if it fails.
download_control_plane() (
  WORK=$(mktemp -d "$CACHE/build.XXXXXX")
  trap 'rm -rf "$WORK"' EXIT
  "$NODE" "$CHECKOUT/test/harness/download-kubernetes.ts" "$WORK/out" 9>&- || exit 1
  install_etcd "$WORK/out" 1>&2 || { echo "has no etcd here" && exit 1; }
  rm -rf "$CURRENT_CONTROL_PLANE"
  mv "$WORK/out" "$CURRENT_CONTROL_PLANE"
)

# install_etcd DIR puts an etcd there. API servers rely on 3.4.31, 3.5.13 and newer to serve lists from their cache; Debian 12's is older.
# Unpacked, not installed: the package would start an etcd on the machine, and enable it for every boot.
install_etcd() (
  WORK=$(mktemp -d "$CACHE/build.XXXXXX")
  trap 'rm -rf "$WORK"' EXIT
  for suite in testing own; do
    (unpack control-plane "$WORK/$suite" "$suite" etcd-server) || continue
    "$WORK/$suite/usr/bin/etcd" --version >/dev/null || continue
    mv "$WORK/$suite/usr/bin/etcd" "$1/etcd"
    exit
  done
  fail "control-plane: no etcd of Debian runs here"
)

# Builds Debian's Kubernetes, if it is not there.
build_control_plane() {
  [ ! -x "$CONTROL_PLANE/kube-apiserver" ] || return 0
  need_packages control-plane openssl:openssl setpriv:util-linux make:make rsync:rsync dpkg-source:dpkg-dev
  WORK=$(mktemp -d "$CACHE/build.XXXXXX")
  trap 'rm -rf "$WORK"' EXIT
  mkdir "$WORK/out"

  say "control-plane: fetching etcd and Go"
  unpack control-plane "$WORK/root" own etcd-server golang-1.19-go golang-1.19-src golang-github-modern-go-reflect2-dev
  cp "$WORK/root/usr/bin/etcd" "$WORK/out/"

  say "control-plane: fetching the source of Kubernetes $KUBERNETES_VERSION"
  fetch_kubernetes_source "$WORK/source"
  build_kubernetes "$WORK/source" "$WORK/root" "$WORK/out"
  rm -rf "$CONTROL_PLANE"
  mv "$WORK/out" "$CONTROL_PLANE"
  rm -rf "$WORK"
  trap - EXIT
}

# The deb-src entries are the machine's own entries with another type.
fetch_kubernetes_source() {
  local target=$1 log=$1.log file
  mkdir -p "$target" "$target.apt/parts"
  for file in /etc/apt/sources.list.d/*.sources; do
    [ ! -f "$file" ] || sed 's/^Types:.*/Types: deb-src/' "$file" >"$target.apt/parts/$(basename "$file")"
  done
  for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
    [ ! -f "$file" ] || sed -n 's/^deb \(.*\)/deb-src \1/p' "$file" >"$target.apt/parts/$(basename "$file" .list).list"
  done
  use_private_apt "$target.apt" "$log"
  (cd "$target" && private_apt source kubernetes >>"$log" 2>&1) ||
    fail_with_log "$log" "control-plane: cannot fetch Debian's source package kubernetes; set KUBEBUILDER_ASSETS to a folder with kube-apiserver and etcd"
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
  say "control-plane: building Kubernetes $KUBERNETES_VERSION (about 10 minutes on 2 cores)"
  (
    cd "$tree/.go/src/k8s.io/kubernetes"
    export GOROOT=$root/usr/lib/go-1.19 GOPATH=$tree/.go GOCACHE=$source/go-cache GOTMPDIR=$source GO111MODULE=off CGO_ENABLED=0 GOFLAGS=
    export PATH=$GOROOT/bin:$PATH KUBE_GIT_VERSION_FILE=$source/version
    make WHAT="${KUBERNETES_PROGRAMS[*]/#/cmd/}"
  ) >"$log" 2>&1 9>&- || fail_with_log "$log" "control-plane: the build of Kubernetes failed"
  cp -L "${KUBERNETES_PROGRAMS[@]/#/$tree/_output/bin/}" "$out/"
}

# A kernel may boot on one CPU and panic on another, so each is booted once, and the tests take the newest that works.
install_guest() {
  local suite
  [ "$(uname -m)" = x86_64 ] || fail "guest: User-Mode Linux runs on x86_64 only, this is $(uname -m)"
  need_packages guest busybox:busybox-static setpriv:util-linux
  for suite in testing bookworm; do
    [ -x "$CACHE/uml-$suite-1/linux" ] || unpack_kernel "$suite" "$CACHE/uml-$suite-1" || true
  done
  "$NODE" "$CHECKOUT/test/harness/try-kernels.ts" 9>&- | sed "s/^/install-parts: guest: /" ||
    fail "guest: no User-Mode Linux works on this machine"
}

unpack_kernel() (
  WORK=$(mktemp -d "$CACHE/build.XXXXXX")
  trap 'rm -rf "$WORK"' EXIT
  say "guest: fetching User-Mode Linux of Debian $1"
  unpack guest "$WORK/root" "$1" user-mode-linux libc6
  mkdir -p "$WORK/out/lib"
  mv "$WORK/root/usr/bin/linux.uml" "$WORK/out/linux"
  mv "$WORK/root/usr/lib/uml/modules" "$WORK/out/"
  # That of a newer Debian needs its own libc.
  if ! "$WORK/out/linux" --version >/dev/null 2>&1; then
    unpack guest "$WORK/tools" own patchelf
    find "$WORK/root" \( -name libc.so.6 -o -name ld-linux-x86-64.so.2 \) -type f -exec cp {} "$WORK/out/lib/" \;
    "$WORK/tools/usr/bin/patchelf" --set-interpreter "$2/lib/ld-linux-x86-64.so.2" --set-rpath "$2/lib" "$WORK/out/linux"
  fi
  rm -rf "$2"
  mv "$WORK/out" "$2"
)

# install_disk DISK INIT makes a Debian with that init system, if it is not there.
install_disk() {
  local disk=$1 init=$2
  [ ! -e "$disk" ] || return 0
  need_packages systemd-guest debootstrap:debootstrap mkfs.ext4:e2fsprogs
  [ "$(id -u)" = 0 ] || fail "systemd-guest: debootstrap needs root"
  WORK=$(mktemp -d "$CACHE/debootstrap.XXXXXX")
  trap 'rm -rf "$WORK"' EXIT
  say "systemd-guest: debootstrap of Debian bookworm with $init (about a minute)"
  "bootstrap_$init" "$WORK/root" "$(debian_mirror)" >"$WORK/log" 2>&1 9>&- ||
    fail_with_log "$WORK/log" "systemd-guest: debootstrap failed"
  prepare_root "$WORK/root"
  "prepare_$init" "$WORK/root"
  truncate -s 2G "$WORK/disk"
  mkfs.ext4 -q -F -d "$WORK/root" "$WORK/disk" || fail "systemd-guest: mkfs.ext4 failed"
  mv "$WORK/disk" "$disk"
  rm -rf "$WORK"
  trap - EXIT
  say "systemd-guest: ready in $disk"
}

bootstrap_systemd() {
  debootstrap --variant=minbase --include=systemd,systemd-sysv,libpam-systemd,dbus,iproute2,curl,ca-certificates,procps \
    bookworm "$1" ${2:+"$2"}
}

# As on Debian's own machines with OpenRC: the first process is that of sysvinit. debootstrap would take sysv-rc in its place.
bootstrap_openrc() {
  debootstrap --variant=minbase --include=iproute2,curl,ca-certificates,procps bookworm "$1" ${2:+"$2"} &&
    DEBIAN_FRONTEND=noninteractive chroot "$1" apt-get -q -y install --no-install-recommends openrc sysvinit-core
}

# Unpacked, not installed: the package would start a Prometheus on the machine.
install_promtool() {
  if [ -n "${PROMTOOL:-}" ]; then
    [ -x "$PROMTOOL" ] || fail "promtool: PROMTOOL=$PROMTOOL is no program"
    return
  fi
  [ ! -x "$PROMTOOL_FILE" ] || return 0
  WORK=$(mktemp -d "$CACHE/build.XXXXXX")
  trap 'rm -rf "$WORK"' EXIT
  say "promtool: fetching Prometheus"
  unpack promtool "$WORK/root" own prometheus
  mv "$WORK/root/usr/bin/promtool" "$PROMTOOL_FILE"
  rm -rf "$WORK"
  trap - EXIT
  say "promtool: ready in $PROMTOOL_FILE"
}

# musl for arm64 is unpacked: Debian's compiler for arm64 comes with headers for glibc only.
install_compilers() {
  need_packages compilers gcc:gcc musl-gcc:musl-tools aarch64-linux-gnu-gcc:gcc-aarch64-linux-gnu \
    qemu-aarch64-static:qemu-user-static
  [ ! -d "$MUSL_ARM64" ] || return 0
  WORK=$(mktemp -d "$CACHE/build.XXXXXX")
  trap 'rm -rf "$WORK"' EXIT
  say "compilers: fetching musl for arm64"
  mkdir -p "$WORK/root" "$WORK/apt"
  ln -s /etc/apt/sources.list.d "$WORK/apt/parts"
  use_private_apt "$WORK/apt" "$WORK/log" -o Dir::Etc::sourcelist=/etc/apt/sources.list -o APT::Architecture=arm64 -o APT::Architectures=arm64
  (cd "$WORK" && private_apt download musl-dev:arm64 >>"$WORK/log" 2>&1) ||
    fail_with_log "$WORK/log" "compilers: cannot download musl-dev for arm64"
  dpkg-deb -x "$WORK"/musl-dev_*_arm64.deb "$WORK/root"
  mv "$WORK/root" "$MUSL_ARM64"
  rm -rf "$WORK"
  trap - EXIT
}

# A disk only knows how to reach the job folder of a test on the host; what is done there is in that folder.
prepare_root() {
  local root=$1
  rm -rf "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/*
  echo guest >"$root/etc/hostname"
  cat >"$root/usr/local/sbin/test-job" <<'END'
#!/bin/sh
mkdir -p /run/job
mount -t hostfs -o "$(sed -n 's/.*nckubelet_job=\([^ ]*\).*/\1/p' /proc/cmdline)" job /run/job
exec sh /run/job/init
END
  chmod 755 "$root/usr/local/sbin/test-job"
}

prepare_systemd() {
  local root=$1 unit
  # Written anew at the first boot, as on a real machine.
  : >"$root/etc/machine-id"
  # Nobody logs in, and nothing of its own may wake up in the middle of a test.
  for unit in getty@.service modprobe@.service e2scrub_reap.service \
    {apt-daily,apt-daily-upgrade,dpkg-db-backup,e2scrub_all,fstrim}.timer; do
    ln -sf /dev/null "$root/etc/systemd/system/$unit"
  done
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

prepare_openrc() {
  local root=$1 service
  # OpenRC's own default is hybrid, where the controllers are those of cgroup v1.
  echo 'rc_cgroup_mode="unified"' >>"$root/etc/rc.conf"
  echo "/dev/ubda / ext4 defaults 0 0" >"$root/etc/fstab"
  # Their work is for machines with a screen, a clock and a network; each takes User-Mode Linux a second.
  for service in brightness hwclock.sh mount-configfs mountnfs.sh mountnfs-bootclean.sh urandom; do
    rm -f "$root/etc/runlevels/sysinit/$service"
  done
  # Nobody logs in. Loopback is all the network there is. The job comes after the last of the runlevel's services.
  sed -i '/getty/d; /sulogin/d' "$root/etc/inittab"
  echo "lo::sysinit:/sbin/ip link set lo up" >>"$root/etc/inittab"
  echo "tj:2:once:/usr/local/sbin/test-job" >>"$root/etc/inittab"
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

# unpack PART DIR SUITE PACKAGE... puts the files of Debian packages under DIR, without installing them. SUITE is that of Debian's
# archive, or "own" for what the machine installs from.
unpack() {
  local part=$1 dir=$2 suite=$3 log=$2.log deb
  shift 3
  command -v apt-get >/dev/null || fail "$part: there is no apt-get here; $(instead_of "$part")"
  mkdir -p "$dir/.debs" "$dir.apt/parts"
  if [ "$suite" = own ]; then
    fresh_package_lists
    PRIVATE=(-q -o APT::Sandbox::User=root)
  else
    echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $(debian_mirror) $suite main" >"$dir.apt/parts/debian.list"
    use_private_apt "$dir.apt" "$log"
  fi
  (cd "$dir/.debs" && private_apt download "$@") >>"$log" 2>&1 || fail_with_log "$log" "$part: cannot download $* of Debian ($suite)"
  for deb in "$dir"/.debs/*.deb; do dpkg-deb -x "$deb" "$dir"; done
  rm -r "$dir/.debs" "$dir.apt"
}

# use_private_apt DIR LOG OPTION... lets private_apt use the sources in DIR/parts, with lists and a cache of its own: the machine's stay
# as they are. A third-party entry may lack an index and fail; only the download that follows must succeed.
use_private_apt() {
  local dir=$1 log=$2
  shift 2
  mkdir -p "$dir/lists/partial" "$dir/cache/archives/partial"
  PRIVATE=(-q -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$dir/parts" -o "Dir::State::lists=$dir/lists"
    -o "Dir::Cache=$dir/cache" -o APT::Sandbox::User=root -o Acquire::Languages=none "$@")
  private_apt update >"$log" 2>&1 || true
}

private_apt() { apt-get "${PRIVATE[@]}" "$@"; }

# The mirror that the machine gets Debian from.
debian_mirror() {
  # shellcheck disable=SC2016 # apt-get reads it
  apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' | head -n 1
}

instead_of() {
  case $1 in
    promtool) echo "set PROMTOOL to the program" ;;
    *) echo "set KUBEBUILDER_ASSETS to a folder with kube-apiserver and etcd" ;;
  esac
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
