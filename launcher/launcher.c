/*
 * Starts the scripts of NCApps. README.md states what it guarantees; src/supervisor/launcher/ is its other side.
 *
 *   launcher zygote [PADDING]   forks a launcher for each request on standard input and answers on standard output
 *   launcher check requests     parses requests as the zygote does and starts nothing, for tests
 *   launcher check environments   parses the content of environment files, in place of requests
 *   launcher enter SESSION REPORT LEAF LOG PIPE SOURCE ENVIRONMENT FOLDER USER COMMAND...   becomes a command inside of a run;
 *     with REPORT "3", descriptor 3 gets the reason if it cannot, and is closed if it can
 *   launcher copy MARK LOG PIPE SOURCE   copies to the log in place of a launcher that was killed
 *   launcher look USER   says what is at a path, as that user, for each request with one field on standard input
 *   launcher read USER PATH   writes a regular file to standard output, as that user; ends with an error number
 *
 * A request is its length, then the count of its fields (both 32 bits, little-endian), then the fields, each ended by NUL:
 * MARK KEEPER LEAF LOG ENVIRONMENT FOLDER USER COMMAND..., where LOG is a folder. The answer is 32 bits: a pid, or a negative error number.
 * The answer of `look` is three numbers of 32 bits, an error number, the kind of the file (as in st_mode, and 1 if the user may execute
 * it) and a length, then that many of its first bytes.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* linux/sched.h, since Linux 5.7. */
#define INTO_CGROUP 0x200000000ULL

#define SETUP_FAILED 125
#define CANNOT_EXECUTE 126
#define NOT_FOUND 127
#define SOFT_FILES 65536
/* What an app's log may take, unless its agent says otherwise; src/supervisor/logs/log-policy.ts has the same. */
#define USUAL_BYTES (10ULL << 20)
#define USUAL_FILES 5
#define MIN_BYTES 65536
#define MAX_FILES 1000
#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/* Where launchers and copiers have the reading end of the pipe, so that others find it. */
#define PIPE 0
#define PIPE_LINK "/proc/self/fd/0"

/* Tests compile a launcher that is killed at one of these steps. */
#ifdef CRASH_AT
#define STEP(number) do { if ((number) == CRASH_AT) kill(getpid(), SIGKILL); } while (0)
#else
#define STEP(number) do {} while (0)
#endif

extern char **environ;

/* One request at a time. The pages of a request are shared with the launcher until the next one overwrites them. */
static char frame[2 * 1024 * 1024];
static char *words[65536];
static gid_t groups[65536];

/* Where /proc/PID/cmdline is: the zygote's own arguments. */
static char *title;
static size_t title_size;

struct run {
  const char *mark, *keeper, *leaf, *log, *environment, *folder, *user;
  char *const *command;
};

struct user {
  bool given;
  uid_t uid;
  gid_t gid;
  size_t count;
};

/* --- Text and files --- */

struct text {
  size_t length;
  char bytes[2 * PATH_MAX];
};

/* Text that does not fit is cut; a path that long exists nowhere. */
static void add(struct text *to, const char *from) {
  size_t room = sizeof to->bytes - 1 - to->length, length = strlen(from);
  if (length > room) length = room;
  memcpy(to->bytes + to->length, from, length);
  to->length += length;
  to->bytes[to->length] = '\0';
}

static void add_digits(struct text *to, uint64_t number, int least) {
  char digits[24], *end = digits + sizeof digits - 1, *start = end;
  *end = '\0';
  do *--start = (char)('0' + number % 10);
  while ((number /= 10) || end - start < least);
  add(to, start);
}

static void add_number(struct text *to, unsigned number) { add_digits(to, number, 1); }

static const char *join(struct text *to, const char *const *parts) {
  for (to->length = 0; *parts; parts++) add(to, *parts);
  return to->bytes;
}
#define joined(to, ...) join(to, (const char *const[]){__VA_ARGS__, NULL})

/* As links in /proc name it, which are slow to read. */
static void add_pipe(struct text *to, int file) {
  struct stat info;
  if (fstat(file, &info) != 0 || !S_ISFIFO(info.st_mode)) return;
  add(to, "pipe:[");
  add_number(to, (unsigned)info.st_ino);
  add(to, "]");
}

static bool write_all(int file, const void *from, size_t length) {
  for (const char *at = from; length > 0;) {
    ssize_t written = write(file, at, length);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    at += written;
    length -= (size_t)written;
  }
  return true;
}

/* Returns how many bytes there were before the end. */
static size_t read_all(int file, void *to, size_t length) {
  size_t done = 0;
  while (done < length) {
    ssize_t got = read(file, (char *)to + done, length - done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += (size_t)got;
  }
  return done;
}

static bool write_file(const char *path, int flags, const char *from, size_t length) {
  int file = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY | flags, 0600);
  if (file < 0) return false;
  bool done = write_all(file, from, length);
  return close(file) == 0 && done;
}

#define REPORT 3
/* Whether whoever executes a command reads there why it was not executed: its status might be one of the command's own. */
static bool reports;

/* A line on standard error, which is the app's log, or that of whoever executes a command. */
static _Noreturn void give_up(int status, const char *what, const char *which, const char *why) {
  struct text line;
  joined(&line, "nckubelet: ", what, which, ": ", why, "\n");
  write_all(2, line.bytes, line.length);
  if (reports) write_all(REPORT, line.bytes, line.length);
  _exit(status);
}

/* --- Marks --- */

static bool write_mark(const struct run *run, const char *kind, const struct text *content) {
  struct text path;
  return write_file(joined(&path, run->mark, kind), O_CREAT | O_NOFOLLOW | O_TRUNC, content->bytes, content->length);
}

static _Noreturn void fail(const struct run *run, const char *what, const char *which, const char *why) {
  struct text line;
  joined(&line, what, which, *why ? ": " : "", why, "\n");
  write_mark(run, ".failure", &line);
  _exit(SETUP_FAILED);
}

/* This process as /proc shows it: its pid and start time identify it for good. */
static bool read_own_stat(struct text *to) {
  int file = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  to->length = read_all(file, to->bytes, sizeof to->bytes - 1);
  close(file);
  return to->length > 0;
}

/* Claims the run, unless it has been claimed, canceled or removed; returns its exit mark. The second line names its pipe. */
static int claim(const struct run *run) {
  struct text path, stat;
  if (!read_own_stat(&stat)) _exit(SETUP_FAILED);
  add_pipe(&stat, PIPE);
  add(&stat, "\n");
  int file = open(joined(&path, run->mark, ".claim"), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) _exit(SETUP_FAILED);
  STEP(4);
  bool written = write_all(file, stat.bytes, stat.length);
  close(file);
  int mark = written ? open(joined(&path, run->mark, ".exit"), O_WRONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
  if (mark >= 0) return mark;
  unlink(joined(&path, run->mark, ".claim"));
  _exit(SETUP_FAILED);
}

/* How the script ended, what reached the launcher meanwhile, and how the last of the processes that it left behind ended. */
struct ending {
  int mark, status;
  bool terminated, alone, last_known;
  int last;
  /* When the script ended, and the last process that it left behind. */
  uint64_t script_at, last_at;
};

/* For a signal the status is that of a shell, 128 + signal. */
static void add_status(struct text *to, int status, const char *between) {
  int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  add_number(to, signal ? 128 + (unsigned)signal : (unsigned)WEXITSTATUS(status));
  add(to, between);
  add_number(to, (unsigned)signal);
  add(to, "\n");
}

/* Overwrites what the agent reserved, in one write: once for the script and, if others lived on, once more for the last of them. */
static void write_exit(const struct run *run, const struct ending *ending) {
  struct text line, path;
  joined(&line, "exit ");
  add_status(&line, ending->status, ending->terminated ? "\nterminated\nsignal " : "\nsignal ");
  if (ending->last_known) {
    add(&line, "last ");
    add_status(&line, ending->last, " ");
  }
  if (ending->alone) add(&line, "alone\n");
  /* The state folder may be a copy by now: the open file is for a folder that is gone, or a table of files that is full. */
  int named = open(joined(&path, run->mark, ".exit"), O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
  while (pwrite(named < 0 ? ending->mark : named, line.bytes, line.length, 0) < 0 && errno == EINTR) {}
  if (named >= 0) close(named);
}

/* --- Requests --- */

static uint32_t read_number(const char *at) {
  const unsigned char *byte = (const unsigned char *)at;
  return byte[0] | (uint32_t)byte[1] << 8 | (uint32_t)byte[2] << 16 | (uint32_t)byte[3] << 24;
}

/* Splits `length` bytes of the frame into `words`, ended by a null pointer; zero if they are not exactly the fields they claim. */
static size_t split_frame(size_t length) {
  if (length < 5 || frame[length - 1] != '\0') return 0;
  size_t expected = read_number(frame), count = 0;
  if (expected >= sizeof words / sizeof *words) return 0;
  for (char *at = frame + 4; at < frame + length; at += strlen(at) + 1) {
    if (count == expected) return 0;
    words[count++] = at;
  }
  words[count] = NULL;
  return count == expected ? count : 0;
}

static bool read_id(const char **at, uint32_t *to) {
  uint64_t value = 0;
  const char *start = *at;
  while (**at >= '0' && **at <= '9' && *at - start < 10) value = value * 10 + (uint64_t)(*(*at)++ - '0');
  *to = (uint32_t)value;
  /* The last one means "no change". */
  return *at > start && value < UINT32_MAX;
}

/* `UID GID GROUP...`, or nothing for the user of the agent; the groups go to `groups`. */
static bool read_user(const char *from, struct user *to) {
  *to = (struct user){.given = *from != '\0'};
  if (!to->given) return true;
  if (!read_id(&from, &to->uid) || *from++ != ' ' || !read_id(&from, &to->gid)) return false;
  while (*from == ' ' && to->count < sizeof groups / sizeof *groups) {
    from++;
    if (!read_id(&from, &groups[to->count++])) return false;
  }
  return *from == '\0';
}

static bool is_absolute(const char *path) { return *path == '/'; }
static bool is_absolute_or_empty(const char *path) { return *path == '/' || *path == '\0'; }

static bool read_run(char **field, size_t count, struct run *to) {
  if (count < 8) return false;
  *to = (struct run){field[0], field[1], field[2], field[3], field[4], field[5], field[6], field + 7};
  struct user user;
  return is_absolute(to->mark) && is_absolute_or_empty(to->keeper) && is_absolute_or_empty(to->leaf) && is_absolute(to->log) &&
         is_absolute(to->environment) && is_absolute(to->folder) && *to->command[0] != '\0' && read_user(to->user, &user);
}

/* --- Becoming the app --- */

static void *reserve(size_t bytes) {
  void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) give_up(CANNOT_EXECUTE, "cannot load the environment", "", strerror(errno));
  return at;
}

/* Decodes one `export NAME='value'` line in place and returns the next one; NULL if this is no such line. */
static char *decode_line(char *line, const char *end, char **entry) {
  if (end - line < 7 || memcmp(line, "export ", 7) != 0) return NULL;
  char *from = line + 7, *to = from;
  *entry = to;
  while (from < end && *from != '=' && *from != '\'' && *from != '\n' && *from != '\0') to = ++from;
  if (from == end || *from != '=' || from == *entry) return NULL;
  to = ++from;
  while (from < end && *from != '\n') {
    if (*from == '\'') {
      for (from++; from < end && *from != '\''; *to++ = *from++)
        if (*from == '\0') return NULL;
      if (from++ == end) return NULL;
    } else if (*from == '\\' && end - from >= 2 && from[1] == '\'') {
      *to++ = '\'';
      from += 2;
    } else {
      return NULL;
    }
  }
  if (from == end) return NULL;
  *to = '\0';
  return from + 1;
}

static const char *value_of(char *const *environment, const char *name, size_t length) {
  for (; *environment; environment++)
    if (strncmp(*environment, name, length) == 0 && (*environment)[length] == '=') return *environment + length + 1;
  return NULL;
}

/* The variables of the file and those that this process has beside them, as a shell that evaluates the file would have them. */
static char **load_environment(int file, const char *folder) {
  struct stat info;
  if (fstat(file, &info) != 0) give_up(CANNOT_EXECUTE, "cannot load the environment", "", strerror(errno));
  size_t size = (size_t)info.st_size;
  char *text = reserve(size + 1), *end = text + size;
  if (read_all(file, text, size) < size) give_up(CANNOT_EXECUTE, "cannot load the environment", "", "the file cannot be read");
  size_t most = 2;
  for (char *at = text; at < end; at++) most += *at == '\n';
  for (char **own = environ; *own; own++) most++;
  char **environment = reserve(most * sizeof *environment), **next = environment;
  char *place = reserve(strlen(folder) + 5);
  memcpy(place, "PWD=", 4);
  memcpy(place + 4, folder, strlen(folder));
  *next++ = place;
  for (char *line = text, *entry; line < end;) {
    line = decode_line(line, end, &entry);
    if (!line) give_up(CANNOT_EXECUTE, "cannot load the environment", "", "the file of the run is damaged");
    if (strncmp(entry, "PWD=", 4) != 0) *next++ = entry;
  }
  for (char **own = environ; *own; own++) {
    const char *equals = strchr(*own, '=');
    if (equals && !value_of(environment, *own, (size_t)(equals - *own))) *next++ = *own;
  }
  return environment;
}

/* linux/capability.h, version 3. */
struct capability_header { uint32_t version; int pid; };
struct capability_set { uint32_t effective, permitted, inheritable; };

/* Drops the agent's privileges for good. */
static void become(const char *given) {
  struct user user;
  struct capability_header header = {0x20080522, 0};
  struct capability_set set[2] = {{0, 0, 0}};
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  if (syscall(SYS_capget, &header, set) == 0 && (set[0].inheritable | set[1].inheritable)) {
    set[0].inheritable = set[1].inheritable = 0;
    if (syscall(SYS_capset, &header, set) != 0) give_up(CANNOT_EXECUTE, "cannot drop capabilities", "", strerror(errno));
  }
  if (!read_user(given, &user)) give_up(CANNOT_EXECUTE, "cannot become user ", given, strerror(EINVAL));
  bool done = !user.given || (setgroups(user.count, groups) == 0 && setresgid(user.gid, user.gid, user.gid) == 0 &&
                              setresuid(user.uid, user.uid, user.uid) == 0);
  if (!done || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) give_up(CANNOT_EXECUTE, "cannot become user ", given, strerror(errno));
}

/* A file without a shebang is a shell script. */
static void try_execute(const char *path, char *const *command, char **environment) {
  execve(path, command, environment);
  if (errno != ENOEXEC) return;
  size_t count = 0;
  while (command[count]) count++;
  const char **script = reserve((count + 2) * sizeof *script);
  script[0] = "/bin/sh";
  script[1] = path;
  memcpy(script + 2, command + 1, count * sizeof *script);
  execve(script[0], (char *const *)script, environment);
}

static _Noreturn void execute(char *const *command, char **environment) {
  const char *name = command[0];
  int problem = ENOENT;
  if (strchr(name, '/')) {
    try_execute(name, command, environment);
    problem = errno;
  } else {
    const char *path = value_of(environment, "PATH", 4);
    for (const char *folder = path ? path : DEFAULT_PATH; folder; folder = strchr(folder, ':') ? strchr(folder, ':') + 1 : NULL) {
      size_t length = strcspn(folder, ":");
      struct text file = {0};
      if (length + strlen(name) + 2 > sizeof file.bytes) continue;
      memcpy(file.bytes, folder, length);
      file.length = length;
      add(&file, length ? "/" : "./");
      add(&file, name);
      try_execute(file.bytes, command, environment);
      if (errno != ENOENT && errno != ENOTDIR) problem = errno;
    }
  }
  bool is_missing = problem == ENOENT || problem == ENOTDIR;
  give_up(is_missing ? NOT_FOUND : CANNOT_EXECUTE, "cannot execute ", name, is_missing ? "not found" : strerror(problem));
}

static void reset_signals(void) {
  sigset_t none;
  struct sigaction normal = {.sa_handler = SIG_DFL};
  for (int number = 1; number <= 64; number++) sigaction(number, &normal, NULL);
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
}

static bool enter_cgroup(const char *cgroup) {
  struct text path;
  return write_file(joined(&path, cgroup, "/cgroup.procs"), 0, "0\n", 2);
}

/* What a process of the app has: the kernel's usual chance to be killed, umask 022, 65536 files if the maximum allows it. */
static void set_defaults(void) {
  struct rlimit files;
  write_file("/proc/self/oom_score_adj", 0, "0\n", 2);
  umask(022);
  if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_max >= SOFT_FILES) {
    files.rlim_cur = SOFT_FILES;
    setrlimit(RLIMIT_NOFILE, &files);
  }
}

static _Noreturn void become_command(int environment, const char *folder, const char *user, char *const *command) {
  reset_signals();
  become(user);
  STEP(13);
  char **variables = load_environment(environment, folder);
  if (chdir(folder) != 0) give_up(CANNOT_EXECUTE, "cannot change to ", folder, strerror(errno));
  execute(command, variables);
}

/* --- The log --- */

/*
 * A log is a folder of parts, `app.log.START`, each named by the position of its first byte in all that the app wrote. The one with
 * the highest number grows; the link `app.log` leads to it. Beside each part is its index, `app.times.START`, one sample a second at
 * most. Whoever writes holds the lock, so a part that has a successor never changes, and readers need no lock.
 */
static struct {
  const char *path;
  /* The lock is a file of its own, which nobody else can open: who may list the folder could hold a lock on that. */
  int folder, lock, part, index;
  /* The position of the part's first byte, and how long its index is. */
  uint64_t start, index_bytes;
  /* The time of the last sample of this process; 0 for none in this part. */
  uint64_t sampled;
  uint64_t max_bytes, max_files;
} app_log = {.folder = -1, .lock = -1, .part = -1, .index = -1};

/* All bytes from this position to that of the next sample were written at this time, in milliseconds, or in the second after it. */
struct sample { uint64_t time, position; };
/* In a time: a run starts here. */
#define RUN_STARTS (1ULL << 63)

#define LINK "app.log"
#define PART "app.log."
#define INDEX "app.times."
#define START_DIGITS 16

struct parts { bool complete; uint64_t count, bytes, oldest, newest, newest_bytes; };

/* As many digits as JavaScript can count. */
static bool read_digits(const char **at, uint64_t *to) {
  const char *start = *at;
  for (*to = 0; **at >= '0' && **at <= '9' && *at - start < START_DIGITS; (*at)++) *to = *to * 10 + (uint64_t)(**at - '0');
  return *at > start && *to <= 1ULL << 53;
}

static bool read_start(const char *name, const char *kind, uint64_t *to) {
  size_t length = strlen(kind);
  const char *at = name + length;
  return strncmp(name, kind, length) == 0 && read_digits(&at, to) && at == name + length + START_DIGITS && *at == '\0';
}

static const char *name_file(struct text *to, const char *kind, uint64_t start) {
  joined(to, kind);
  add_digits(to, start, START_DIGITS);
  return to->bytes;
}

static struct parts list_parts(void) {
  /* As the kernel has it: the C library would need a heap. */
  struct entry { uint64_t inode, next; unsigned short length; unsigned char type; char name[]; };
  _Alignas(struct entry) char entries[4096];
  struct parts found = {.oldest = UINT64_MAX};
  long got;
  lseek(app_log.folder, 0, SEEK_SET);
  while ((got = syscall(SYS_getdents64, app_log.folder, entries, sizeof entries)) > 0) {
    for (char *at = entries; at < entries + got; at += ((struct entry *)at)->length) {
      const char *name = ((struct entry *)at)->name;
      uint64_t start;
      struct stat info;
      bool is_part = read_start(name, PART, &start);
      if ((!is_part && !read_start(name, INDEX, &start)) || fstatat(app_log.folder, name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
      found.bytes += (uint64_t)info.st_size;
      if (!is_part) continue;
      if (start < found.oldest) found.oldest = start;
      if (found.count++ > 0 && start < found.newest) continue;
      found.newest = start;
      found.newest_bytes = (uint64_t)info.st_size;
    }
  }
  found.complete = got == 0;
  return found;
}

/* The index first: what a crash leaves is a part, which the next one finds. False if it cannot be removed. */
static bool remove_part(uint64_t start) {
  struct text name;
  unlinkat(app_log.folder, name_file(&name, INDEX, start), 0);
  STEP(18);
  return unlinkat(app_log.folder, name_file(&name, PART, start), 0) == 0 || errno == ENOENT;
}

/* On a full disk the oldest lines go first; false if that is not why, or if there are none but those of the last part. */
static bool make_space(void) {
  if (errno != ENOSPC && errno != EDQUOT) return false;
  struct parts parts = list_parts();
  bool made = parts.count > 1 && remove_part(parts.oldest);
  if (!made) errno = ENOSPC;
  return made;
}

static bool append(int file, const void *from, size_t length) {
  for (const char *at = from; length > 0;) {
    ssize_t written = write(file, at, length);
    if (written < 0 && make_space()) continue;
    if (written <= 0) return false;
    at += written;
    length -= (size_t)written;
  }
  return true;
}

/* Whoever makes a limit smaller keeps the last part that is too large for it, until others follow. */
static void remove_old_parts(void) {
  for (;;) {
    struct parts parts = list_parts();
    bool too_much = parts.count > 2 && parts.bytes > app_log.max_files * app_log.max_bytes;
    if (parts.count < 2 || (parts.count <= app_log.max_files && !too_much)) return;
    if (!remove_part(parts.oldest)) return;
  }
}

/* `BYTES FILES`, where the agent has written them: they may change at any time. What cannot be read changes nothing. */
static void read_limits(void) {
  char text[64];
  const char *at = text;
  uint64_t bytes, files;
  int file = openat(app_log.folder, ".limits", O_RDONLY | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  bool none = file < 0 && errno == ENOENT;
  text[file < 0 ? 0 : read_all(file, text, sizeof text - 1)] = '\0';
  if (file >= 0) close(file);
  bool valid = read_digits(&at, &bytes) && *at++ == ' ' && read_digits(&at, &files) && *at == '\n' && bytes >= MIN_BYTES && files > 0 &&
               files <= MAX_FILES;
  if (!valid && !none && app_log.max_files > 0) return;
  app_log.max_bytes = valid ? bytes : USUAL_BYTES;
  app_log.max_files = valid ? files : USUAL_FILES;
}

/* Whether the link leads to this part: no other has been started behind it. */
static bool is_last(void) {
  struct text name;
  char link[64];
  ssize_t length = readlinkat(app_log.folder, LINK, link, sizeof link);
  name_file(&name, PART, app_log.start);
  return length == (ssize_t)name.length && memcmp(link, name.bytes, name.length) == 0;
}

static bool make_last(bool next) {
  struct text name;
  int made;
  name_file(&name, PART, app_log.start);
  do {
    unlinkat(app_log.folder, ".app.log", 0);
    made = symlinkat(name.bytes, app_log.folder, ".app.log");
  } while (made != 0 && make_space());
  if (next) STEP(14);
  return made == 0 && renameat(app_log.folder, ".app.log", app_log.folder, LINK) == 0;
}

static int open_file(const char *kind, uint64_t start) {
  struct text name;
  int file, flags = O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK | O_CLOEXEC;
  do file = openat(app_log.folder, name_file(&name, kind, start), flags, 0640);
  while (file < 0 && make_space());
  return file;
}

static void cut_index(uint64_t bytes) {
  if (ftruncate(app_log.index, (off_t)bytes) == 0) app_log.index_bytes = bytes;
}

/* A sample that a crash or a full disk has cut is removed, and so are all if somebody has emptied the part since. */
static void open_index(void) {
  struct stat index, part;
  struct sample last;
  app_log.index = open_file(INDEX, app_log.start);
  app_log.index_bytes = app_log.index >= 0 && fstat(app_log.index, &index) == 0 ? (uint64_t)index.st_size : 0;
  uint64_t torn = app_log.index_bytes % sizeof last;
  if (torn > 0) cut_index(app_log.index_bytes - torn);
  if (app_log.index_bytes < sizeof last || fstat(app_log.part, &part) != 0) return;
  if (pread(app_log.index, &last, sizeof last, (off_t)(app_log.index_bytes - sizeof last)) != sizeof last) return;
  if (last.position > app_log.start + (uint64_t)part.st_size) cut_index(0);
}

/*
 * Opens the part that grows, or the one after it; the first if there is none. The link comes first: others that write see it, and
 * write no more to a part that is followed by another. If it leads nowhere after a crash, they open the last part again.
 */
static bool open_part(bool next) {
  struct parts parts = list_parts();
  if (!parts.complete) return false;
  if (app_log.part >= 0) close(app_log.part);
  if (app_log.index >= 0) close(app_log.index);
  app_log.start = parts.newest + (next ? parts.newest_bytes : 0);
  app_log.sampled = 0;
  app_log.part = app_log.index = -1;
  if (!is_last() && !make_last(next)) return false;
  if (next) STEP(15);
  app_log.part = open_file(PART, app_log.start);
  if (app_log.part < 0) return false;
  if (next) STEP(16);
  open_index();
  if (next) STEP(17);
  read_limits();
  remove_old_parts();
  return true;
}

static void add_sample(uint64_t position, uint64_t flags) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  uint64_t time = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
  /* A clock that was set back is no reason to wait. */
  if (!flags && time >= app_log.sampled && time - app_log.sampled < 1000) return;
  struct sample sample = {time | flags, position};
  app_log.sampled = time;
  if (flags == 0) {
    uint64_t before = app_log.max_files;
    read_limits();
    if (app_log.max_files < before) remove_old_parts();
    close(app_log.index);
    open_index();
  }
  if (append(app_log.index, &sample, sizeof sample)) app_log.index_bytes += sizeof sample;
}

/* Opens the folder, and creates it if somebody has removed it, with the one above it. */
static bool open_folder(void) {
  struct text above;
  int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  app_log.folder = open(app_log.path, flags);
  if (app_log.folder < 0 && errno == ENOENT) {
    joined(&above, app_log.path);
    *strrchr(above.bytes, '/') = '\0';
    mkdir(above.bytes, 0755);
    mkdir(app_log.path, 0750);
    app_log.folder = open(app_log.path, flags);
  }
  if (app_log.folder < 0) return false;
  do app_log.lock = openat(app_log.folder, ".lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK | O_CLOEXEC, 0600);
  while (app_log.lock < 0 && make_space());
  return app_log.lock >= 0;
}

static void close_folder(void) {
  if (app_log.folder >= 0) close(app_log.folder);
  if (app_log.lock >= 0) close(app_log.lock);
  app_log.folder = app_log.lock = -1;
}

/* Locks the log. A folder or a lock that was removed is opened again. */
static bool lock_log(void) {
  struct stat folder, lock;
  for (int tries = 0; tries < 3; tries++) {
    if (app_log.lock < 0 && !open_folder()) break;
    flock(app_log.lock, LOCK_EX);
    if (fstat(app_log.folder, &folder) == 0 && folder.st_nlink > 0 && fstat(app_log.lock, &lock) == 0 && lock.st_nlink > 0) return true;
    close_folder();
  }
  int problem = errno;
  close_folder();
  errno = problem;
  return false;
}

static bool open_log(const char *path, bool starts) {
  struct stat info;
  app_log.path = path;
  if (!lock_log()) return false;
  bool opened = open_part(false) && fstat(app_log.part, &info) == 0;
  int problem = errno;
  /* Runs without output would let the index grow without end. */
  if (opened && starts && info.st_size == 0 && app_log.index_bytes >= app_log.max_bytes) cut_index(0);
  if (opened && starts) add_sample(app_log.start + (uint64_t)info.st_size, RUN_STARTS);
  flock(app_log.lock, LOCK_UN);
  errno = problem;
  return opened;
}

/* How much of the output this part takes: whole lines, unless one is longer than what there is room for. */
static size_t fitting(const char *bytes, size_t length, uint64_t used) {
  uint64_t room = used < app_log.max_bytes ? app_log.max_bytes - used : 0;
  if (length <= room) return length;
  const char *last = memrchr(bytes, '\n', (size_t)room);
  return last ? (size_t)(last - bytes) + 1 : 0;
}

static bool write_log(const char *bytes, size_t length) {
  struct stat info;
  bool done = lock_log();
  if (!done) return false;
  while (done && length > 0) {
    if (!is_last() || fstat(app_log.part, &info) != 0 || info.st_nlink == 0)
      done = open_part(false) && fstat(app_log.part, &info) == 0;
    if (!done) break;
    add_sample(app_log.start + (uint64_t)info.st_size, 0);
    size_t fits = fitting(bytes, length, (uint64_t)info.st_size + app_log.index_bytes);
    if (fits == 0 && info.st_size > 0) {
      done = open_part(true);
      continue;
    }
    if (fits == 0) fits = length;
    done = append(app_log.part, bytes, fits);
    bytes += fits;
    length -= fits;
  }
  int problem = errno;
  flock(app_log.lock, LOCK_UN);
  errno = problem;
  return done;
}

/* Says in the log what it lacks, as soon as it can be written to again; false if it still cannot. */
static bool note_loss(size_t *lost, int why) {
  struct text line;
  if (*lost == 0) return true;
  joined(&line, "\nnckubelet: up to ");
  add_digits(&line, *lost, 1);
  add(&line, " bytes of output are lost: ");
  add(&line, strerror(why));
  add(&line, "\n");
  if (!write_log(line.bytes, line.length)) return false;
  *lost = 0;
  return true;
}

/* Copies output of the app to the log; returns how much there was, or -1 for none yet. What a full disk refuses is lost. */
static ssize_t copy(void) {
  static size_t lost;
  static int why;
  char bytes[16384];
  ssize_t got = read(PIPE, bytes, sizeof bytes);
  if (!note_loss(&lost, why) || (got > 0 && !write_log(bytes, (size_t)got))) {
    why = errno;
    if (got > 0) lost += (size_t)got;
  }
  return got;
}

/* --- The launcher --- */

/* Forks into a cgroup if the kernel can, so that the child needs no move, which is slow; sets whether it did. */
static pid_t fork_into(const char *cgroup, bool *inside) {
  *inside = *cgroup == '\0';
  int folder = *inside ? -1 : open(cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return fork();
  struct {
    uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid, set_tid_size, cgroup;
  } arguments = {.flags = INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (uint64_t)folder};
  pid_t pid = (pid_t)syscall(SYS_clone3, &arguments, sizeof arguments);
  *inside = pid >= 0;
  close(folder);
  return *inside ? pid : fork();
}

static void set_title(const char *name, const char *of) {
  size_t length = strlen(name) + 1;
  if (length + strlen(of) + 1 > title_size) return;
  memset(title, 0, title_size);
  memcpy(title, name, length);
  memcpy(title + length, of, strlen(of));
}

/*
 * Opens the pipe of a run. The app's end, which is returned, or a negative error number, also reads: so a launcher that is killed ends no app by SIGPIPE, and
 * an app that opens /dev/stderr again never waits for a reader.
 */
static int open_pipe(void) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0 || dup2(ends[0], PIPE) < 0) return -errno;
  close(ends[0]);
  close(ends[1]);
  int output = open(PIPE_LINK, O_RDWR | O_CLOEXEC);
  return output < 0 ? -errno : output;
}

/* Only its owner can open /dev/stderr. */
static bool give_output(int output, const char *to) {
  struct user user;
  return !read_user(to, &user) || !user.given || fchown(output, user.uid, user.gid) == 0;
}

static _Noreturn void become_script(const struct run *run, bool inside, int output, int environment) {
  struct text stat;
  STEP(11);
  if (!inside && !enter_cgroup(run->leaf)) fail(run, "cannot enter ", run->leaf, "");
  setsid();
  if (!read_own_stat(&stat) || !write_mark(run, ".started", &stat)) _exit(SETUP_FAILED);
  STEP(12);
  set_defaults();
  /* In the launcher 1 is /dev/null. */
  if (dup2(1, 0) < 0 || dup2(output, 1) < 0 || dup2(output, 2) < 0) _exit(SETUP_FAILED);
  if (!give_output(output, run->user))
    give_up(CANNOT_EXECUTE, "cannot give the output to user ", run->user, strerror(errno));
  become_command(environment, run->folder, run->user, run->command);
}

static void read_signals(int signals, bool *terminated) {
  struct signalfd_siginfo info;
  while (read(signals, &info, sizeof info) == sizeof info)
    if (info.ssi_signo == SIGTERM) *terminated = true;
}

static uint64_t steady_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* What a script that ends takes with it: helpers that it killed, or that read from it. */
#define WITH_SCRIPT_MS 200
/* Workers end within seconds of their daemon. */
#define FOLLOWS_MS 5000

/*
 * Notes how a process that outlived its script ended. The last one counts, with two exceptions: what ends together with the script in
 * its session is a helper, so the script's own status stays; and a failure stays if others end soon after, each in its own way.
 */
static void note_orphan(struct ending *ending, pid_t script, pid_t session, int status) {
  uint64_t now = steady_ms();
  if (session == script && now - ending->script_at < WITH_SCRIPT_MS) return;
  if (ending->last == 0 || now - ending->last_at >= FOLLOWS_MS) ending->last = status;
  ending->last_at = now;
}

/* Reaps a child that has ended: its pid, 0 for none, or -1 if there is no child at all. A zombie still has its session. */
static pid_t reap(int *status, pid_t *session) {
  siginfo_t info = {0};
  if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0) return -1;
  if (info.si_pid == 0) return 0;
  *session = getsid(info.si_pid);
  return waitpid(info.si_pid, status, 0);
}

/* Copies what is in the pipe, and no more than a pipe can hold: others may write all the time. False at its end. */
static bool drain(void) {
  ssize_t got = 1;
  for (int times = 0; times < 64 && (got = copy()) > 0; times++) {}
  return got != 0;
}

/* Copies until something has ended; `open` says whether a process may still write. */
static void wait_and_copy(int signals, bool *open, bool *terminated) {
  struct pollfd events[] = {{.fd = signals, .events = POLLIN}, {.fd = *open ? PIPE : -1, .events = POLLIN}};
  do {
    poll(events, 2, -1);
    if (events[1].revents) *open = copy() != 0;
  } while (*open && !events[0].revents);
  read_signals(signals, terminated);
  /* A stop file that opens the pipe again sends a signal. */
  *open = *open || copy() != 0;
}

/* Copies and reaps until the script has ended. */
static void attend_script(pid_t script, int signals, struct ending *ending) {
  pid_t ended, session;
  for (bool open = true;; wait_and_copy(signals, &open, &ending->terminated))
    while ((ended = reap(&ending->status, &session)) > 0)
      if (ended == script) return;
}

/* Reaps what the script left behind, as far as it has ended; false if there is nothing left. */
static bool reap_orphans(pid_t script, struct ending *ending) {
  pid_t ended, session;
  int status;
  while ((ended = reap(&status, &session)) > 0) note_orphan(ending, script, session, status);
  return ended == 0;
}

/* Copies and reaps until there is neither a child nor a process that may write. Children of children come here: none come after the last. */
static void attend_orphans(const struct run *run, pid_t script, int signals, struct ending *ending) {
  for (bool open = true;; wait_and_copy(signals, &open, &ending->terminated)) {
    if (reap_orphans(script, ending)) continue;
    if (!ending->last_known) {
      open = drain();
      ending->last_known = true;
      write_exit(run, ending);
    }
    if (!open) return;
  }
}

static _Noreturn void launch(const struct run *run, bool inside) {
  /* With every signal blocked, only the descriptor sees any. */
  sigset_t every, wanted;
  sigfillset(&every);
  sigprocmask(SIG_SETMASK, &every, NULL);
  signal(SIGCHLD, SIG_DFL);
  setsid();
  umask(027);
  STEP(3);
  int output = open_pipe();
  int mark = claim(run);
  STEP(5);
  if (output < 0) fail(run, "cannot open ", "a pipe", strerror(-output));
  /* The pipes of the zygote are for nobody else. */
  int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0) fail(run, "cannot open ", "/dev/null", strerror(errno));
  set_title("nckubelet-launcher", run->mark);
  if (!inside && !enter_cgroup(run->keeper)) fail(run, "cannot enter ", run->keeper, "");
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  STEP(6);

  if (!open_log(run->log, true)) fail(run, "cannot open the log ", run->log, strerror(errno));
  int environment = open(run->environment, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (environment < 0) fail(run, "cannot open the environment ", run->environment, strerror(errno));
  sigemptyset(&wanted);
  sigaddset(&wanted, SIGCHLD);
  sigaddset(&wanted, SIGTERM);
  int signals = signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK);
  if (signals < 0) fail(run, "cannot wait for ", "signals", strerror(errno));
  STEP(7);
  pid_t script = fork_into(run->leaf, &inside);
  if (script == 0) become_script(run, inside, output, environment);
  STEP(8);
  if (script < 0) fail(run, "cannot start a process in ", run->leaf, strerror(errno));
  close(environment);

  struct ending ending = {.mark = mark};
  attend_script(script, signals, &ending);
  ending.last = ending.status;
  ending.script_at = steady_ms();
  /* Not before: the end of the pipe would wake this process once more for each script. */
  close(output);
  /* Whoever sees the exit mark also sees what the script wrote. */
  bool open = drain();
  /* Orphans are children of this process: without any, and at the end of the pipe, nobody need search for what the script left behind. */
  ending.last_known = !reap_orphans(script, &ending);
  ending.alone = ending.last_known && !open;
  STEP(9);
  read_signals(signals, &ending.terminated);
  write_exit(run, &ending);
  STEP(10);
  /* What the script left behind is known by its parent, this process, even if it has left its cgroup, as after `su -`. */
  attend_orphans(run, script, signals, &ending);
  _exit(0);
}

/* Opens the pipe with this name at a path in /proc, which may lead anywhere by now: O_PATH opens nothing, so that it can be compared. */
static int open_if_pipe(const char *source, const char *pipe, int flags) {
  struct text name = {0}, path;
  int found = open(source, O_PATH | O_CLOEXEC), file = -1;
  if (found < 0) return -1;
  add_pipe(&name, found);
  joined(&path, "/proc/self/fd/");
  add_number(&path, (unsigned)found);
  if (*pipe && strcmp(name.bytes, pipe) == 0) file = open(path.bytes, flags | O_NOCTTY | O_CLOEXEC);
  close(found);
  return file;
}

/* Copies until no process may write any more, for the app with this process. The lock makes it the only one; the claim names it. */
static int copy_in_place(int count, char **argument) {
  if (count != 6) return 2;
  struct text path, stat;
  sigset_t every;
  sigfillset(&every);
  sigprocmask(SIG_SETMASK, &every, NULL);
  int mark = open(joined(&path, argument[2], ".claim"), O_WRONLY | O_APPEND | O_NOFOLLOW | O_CLOEXEC);
  if (mark < 0 || flock(mark, LOCK_EX | LOCK_NB) != 0 || !open_log(argument[3], false)) return SETUP_FAILED;
  /* Without a writer, an open that may wait would wait forever. */
  int end = open_if_pipe(argument[5], argument[4], O_RDONLY | O_NONBLOCK);
  if (end < 0 || dup2(end, PIPE) < 0 || fcntl(PIPE, F_SETFL, 0) != 0) return SETUP_FAILED;
  close(end);
  if (read_own_stat(&stat)) write_all(mark, stat.bytes, stat.length);
  while (copy() > 0) {}
  return 0;
}

/*
 * Returns a pipe as that of a run, which a new process copies to the log until nobody may write to it any more. What the log refuses
 * is lost: the command must not end by SIGPIPE.
 */
static int start_copier(const char *log) {
  int ends[2];
  struct text link;
  if (pipe2(ends, O_CLOEXEC) != 0) return -1;
  joined(&link, "/proc/self/fd/");
  add_number(&link, (unsigned)ends[0]);
  int output = open(link.bytes, O_RDWR | O_CLOEXEC);
  pid_t copier = output < 0 ? -1 : fork();
  if (copier == 0) {
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (dup2(ends[0], PIPE) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0) _exit(SETUP_FAILED);
    close(ends[0]);
    close(ends[1]);
    close(output);
    if (reports) close(REPORT);
    umask(027);
    setsid();
    open_log(log, false);
    while (copy() > 0) {}
    _exit(0);
  }
  close(ends[0]);
  close(ends[1]);
  return copier < 0 ? -1 : output;
}

/* --- The zygote --- */

static bool reply(const uint32_t *numbers, size_t count) {
  for (; count > 0; numbers++, count--) {
    char bytes[] = {(char)*numbers, (char)(*numbers >> 8), (char)(*numbers >> 16), (char)(*numbers >> 24)};
    if (!write_all(1, bytes, sizeof bytes)) return false;
  }
  return true;
}

static bool reply_one(int32_t number) { return reply((uint32_t[]){(uint32_t)number}, 1); }

static bool start(size_t length) {
  struct run run;
  bool inside;
  if (!read_run(words, split_frame(length), &run)) return reply_one(-EINVAL);
  STEP(1);
  pid_t pid = fork_into(run.keeper, &inside);
  if (pid == 0) launch(&run, inside);
  STEP(2);
  return reply_one(pid < 0 ? -errno : pid);
}

static bool check_request(size_t length) {
  struct run run;
  size_t count = split_frame(length);
  return reply_one(read_run(words, count, &run) ? (int32_t)count : -EINVAL);
}

static bool check_environment(size_t length) {
  char text[length], *entry;
  int32_t count = 0;
  memcpy(text, frame, length);
  for (char *line = text; line < text + length; count++)
    if (!(line = decode_line(line, text + length, &entry))) return reply_one(-EINVAL);
  return reply_one(count);
}

/* An empty request is answered with zero. A request that is too long ends the process: the next one cannot be found. */
static int serve(bool (*answer)(size_t)) {
  char head[4];
  while (read_all(0, head, sizeof head) == sizeof head) {
    size_t length = read_number(head);
    if (length > sizeof frame) return 2;
    if (read_all(0, frame, length) < length) break;
    if (!(length == 0 ? reply_one(0) : answer(length))) break;
  }
  return 0;
}

/* --- Files of users, which others may change at any time --- */

struct sight {
  int error, file;
  mode_t kind;
  bool executable;
};

/* Opens a regular file, and nothing else: a FIFO might wait, a device might act. O_PATH opens nothing, so that it can be examined. */
static struct sight look_at(const char *path) {
  struct sight seen = {.file = -1};
  struct stat info;
  struct text link;
  int found = open(path, O_PATH | O_CLOEXEC);
  if (found < 0 || fstat(found, &info) != 0) {
    seen.error = errno;
    if (found >= 0) close(found);
    return seen;
  }
  joined(&link, "/proc/self/fd/");
  add_number(&link, (unsigned)found);
  seen.kind = info.st_mode & S_IFMT;
  seen.executable = access(link.bytes, X_OK) == 0;
  if (S_ISREG(info.st_mode)) {
    seen.file = open(link.bytes, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (seen.file < 0) seen.error = errno;
  }
  close(found);
  return seen;
}

static bool look(size_t length) {
  char head[4096];
  if (split_frame(length) != 1) return false;
  struct sight seen = look_at(words[0]);
  size_t got = seen.file < 0 ? 0 : read_all(seen.file, head, sizeof head);
  if (seen.file >= 0) close(seen.file);
  return reply((uint32_t[]){(uint32_t)seen.error, seen.kind | seen.executable, (uint32_t)got}, 3) && write_all(1, head, got);
}

static int read_file(const char *path) {
  static char bytes[65536];
  struct sight seen = look_at(path);
  if (seen.file < 0) return seen.error ? seen.error : EINVAL;
  for (;;) {
    ssize_t got = read(seen.file, bytes, sizeof bytes);
    if (got == 0) return 0;
    if (got < 0 || !write_all(1, bytes, (size_t)got)) return errno;
  }
}

static int enter(int count, char **argument) {
  if (count < 12) return 2;
  const char *session = argument[2], *leaf = argument[4], *log = argument[5], *pipe = argument[6], *source = argument[7];
  const char *environment_file = argument[8], *folder = argument[9], *user = argument[10];
  /* The pipe of the run, if its launcher or a copier still has it; else one of its own, whose copier is not in the app's cgroup. */
  int output = *log ? open_if_pipe(source, pipe, O_RDWR) : -1;
  bool is_pipe = output >= 0;
  if (*log && !is_pipe) output = start_copier(log);
  if (*log && (output < 0 || !give_output(output, user))) give_up(CANNOT_EXECUTE, "cannot open the log ", log, strerror(errno));
  if (*leaf && !enter_cgroup(leaf)) give_up(CANNOT_EXECUTE, "cannot enter ", leaf, strerror(errno));
  set_defaults();
  if (*log && (dup2(output, 1) < 0 || dup2(output, 2) < 0)) give_up(CANNOT_EXECUTE, "cannot open the log ", log, strerror(errno));
  /* The launcher no longer looks at a pipe that all processes of the app have closed. */
  if (is_pipe) kill(atoi(source + strlen("/proc/")), SIGCHLD);
  int environment = open(environment_file, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  if (environment < 0) give_up(CANNOT_EXECUTE, "cannot open the environment ", environment_file, strerror(errno));
  if (strcmp(session, "new-session") == 0) setsid();
  become_command(environment, folder, user, argument + 11);
}

int main(int count, char **argument) {
  const char *mode = count > 1 ? argument[1] : "";
  bool enters = strcmp(mode, "enter") == 0;
  /* Without such a descriptor, nothing is reported. */
  reports = enters && count > 3 && strcmp(argument[3], "3") == 0 && fcntl(REPORT, F_SETFD, FD_CLOEXEC) == 0;
  syscall(SYS_close_range, reports ? REPORT + 1U : 3U, ~0U, 0U);
  if (enters) return enter(count, argument);
  if (strcmp(mode, "copy") == 0) return copy_in_place(count, argument);
  if (strcmp(mode, "look") == 0 && count == 3) {
    become(argument[2]);
    return serve(look);
  }
  if (strcmp(mode, "read") == 0 && count == 4) {
    become(argument[2]);
    return read_file(argument[3]);
  }
  if (strcmp(mode, "check") == 0 && count > 2)
    return serve(strcmp(argument[2], "requests") == 0 ? check_request : check_environment);
  if (strcmp(mode, "zygote") != 0) return 2;
  title = argument[0];
  title_size = (size_t)(argument[count - 1] + strlen(argument[count - 1]) - title);
  set_title("nckubelet-zygote", "");
  /* The kernel reaps launchers. */
  signal(SIGCHLD, SIG_IGN);
  return serve(start);
}
