# shellcheck shell=sh
# The job of a machine: see systemd-guest.ts. The unit test-job.service of the disk with systemd runs it when
# multi-user.target is reached, the inittab of the disk with OpenRC when its default runlevel is; the job folder of the host
# is at /run/job.

# Sets share, halt and the environment of the script, and defines copy_files.
. /run/job/settings
# A dozen programs that run at each daemon-reload, seconds of User-Mode Linux; there is nothing here for them to find.
[ ! -d /run/systemd/system ] || mount -t tmpfs tmpfs /usr/lib/systemd/system-generators
mkdir -p /run/host
mount -t hostfs -o / host /run/host
copy_files
umount /run/host
if [ -n "$share" ]; then
  mkdir -p /share
  mount -t hostfs -o "$share" share /share
fi

# As in guest-init.sh: a machine that hangs is known by its silence.
while sleep 10; do echo "the machine runs"; done >/dev/console &
# As in guest-init.sh: the output is on the host at once, and the script does not see a terminal.
stty -F /dev/ttyS0 raw -echo
mkfifo /run/job-output
cat /run/job-output >/dev/ttyS0 &
drain=$!
(cd / && exec bash /run/job/script) </dev/null >/run/job-output 2>&1
code=$?

# What still holds the script's output would keep it open for ever.
for process in /proc/[0-9]*; do
  pid=${process#/proc/}
  [ "$pid" = "$drain" ] || [ "$pid" = $$ ] && continue
  for descriptor in "$process"/fd/*; do
    if [ "$(readlink "$descriptor" 2>/dev/null)" = /run/job-output ]; then kill -9 "$pid" 2>/dev/null; fi
  done
done
wait "$drain"
echo "$code" >/run/job/code
sync
# shellcheck disable=SC2154 # The settings set it.
case $halt in
  # Once is at once for sysvinit, twice for systemd.
  sudden) poweroff -f -f ;;
  *) poweroff ;;
esac
