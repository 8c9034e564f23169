#!/bin/sh
# The first process of a User-Mode Linux guest: see guest.ts. It gets its job folder as $nckubelet_job and the folder of its modules
# as $nckubelet_modules: parameters of the kernel, which hands them on as environment.
#
# The root is the host's file system, read-only, with a memory overlay on top: the guest sees the machine's
# files, and what it writes is gone with it. Only the job folder, the share and the compile cache are written through.
#
# No busybox before /proc is ours: busybox runs its applets through /proc/self/exe, and in the host's /proc
# that is the User-Mode Linux executable itself.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

if [ "$1" != inside ]; then
  mount -t proc proc /proc
  # shellcheck disable=SC2154 # The kernel sets it.
  busybox insmod "$nckubelet_modules/$(uname -r)/kernel/fs/overlayfs/overlay.ko"
  mount -t tmpfs -o mode=755 tmpfs /mnt
  mkdir /mnt/upper /mnt/work /mnt/root
  mount -t overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work overlay /mnt/root
  mkdir -p /mnt/root/.host /mnt/root/share
  cd /mnt/root && pivot_root . .host && exec chroot . "$0" inside
  echo "the guest cannot enter its overlay"
  exec busybox poweroff -f
fi

mount -t proc proc /proc
umount -l /.host
mount -t sysfs sysfs /sys
mount -t devtmpfs devtmpfs /dev
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
ln -sf /proc/self/fd /dev/fd
mount -t tmpfs -o mode=755 tmpfs /run
mkdir /run/job
# shellcheck disable=SC2154 # The kernel sets it.
mount -t hostfs -o "$nckubelet_job" job /run/job
# Sets cwd, fresh_dirs, share, compile_cache and the environment of the script.
. /run/job/settings
# shellcheck disable=SC2154 # The settings set it.
for dir in $fresh_dirs; do mount -t tmpfs -o mode=1777 tmpfs "$dir"; done
# Other users reach a checkout in a home folder that is closed to them, such as /root: the overlay has these rights, not the host.
# shellcheck disable=SC2154 # The settings set it.
dir=$(dirname "$cwd")
while [ "$dir" != / ]; do
  chmod a+x "$dir"
  dir=$(dirname "$dir")
done
[ -z "$share" ] || mount -t hostfs -o "$share" share /share
# shellcheck disable=SC2154 # The settings set it.
[ -z "$compile_cache" ] || mount -t hostfs -o "$compile_cache" cache "$compile_cache"
mount -t cgroup2 cgroup2 /sys/fs/cgroup
echo "+cpu +memory +pids +io" >/sys/fs/cgroup/cgroup.subtree_control
busybox ip link set lo up
busybox hostname guest
unset nckubelet_job nckubelet_modules mem umid uml_dir quiet seccomp TERM
# A kernel that hangs is known by its silence: see user-mode-linux.ts.
while sleep 10; do echo "the guest runs"; done >/dev/console &

# Output goes over a serial line: unlike a file in the job folder, it is on the host at once, so that it is
# whole even when the guest is cut off. The script itself sees a pipe, not a terminal.
busybox stty -F /dev/ttyS0 raw -echo
mkfifo /run/output
cat /run/output >/dev/ttyS0 &
drain=$!
# shellcheck disable=SC2154 # The settings set it.
(cd "$cwd" && exec bash /run/job/script) </dev/null >/run/output 2>&1
code=$?

# What the script left running would hold the pipe open.
for process in /proc/[0-9]*; do
  pid=${process#/proc/}
  case $pid in 1 | "$drain") ;; *) kill -9 "$pid" ;; esac
done 2>/dev/null
wait "$drain"
echo "$code" >/run/job/code
sync
busybox poweroff -f
