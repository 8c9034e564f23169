/*
 * What the launcher parses, for libFuzzer: requests, environment files and the names and limits of logs. The first byte of an input chooses.
 * launcher-input.ts compiles and runs it.
 *
 * Memory that the launcher takes from the kernel comes from the heap here, and the frame ends where its request does: AddressSanitizer
 * sees an access beside them.
 */
#define _GNU_SOURCE
#include <sanitizer/asan_interface.h>
#include <setjmp.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static jmp_buf ended;
static void *blocks[8];
static size_t taken;

static void *take(size_t bytes) { return blocks[taken++] = calloc(1, bytes); }

#define main launcher_main
#define mmap(address, bytes, ...) take(bytes)
#define _exit(status) longjmp(ended, 1)
#define write(file, from, length) ((ssize_t)(length))
#include "../../launcher/launcher.c"
#undef write

static void parse_request(const uint8_t *input, size_t length) {
  struct run run;
  if (length > sizeof frame) return;
  memcpy(frame, input, length);
  ASAN_POISON_MEMORY_REGION(frame + length, sizeof frame - length);
  size_t count = split_frame(length);
  bool valid = read_run(words, count, &run);
  ASAN_UNPOISON_MEMORY_REGION(frame, sizeof frame);
  if (valid && (count < 8 || words[count] || run.command != words + 7)) abort();
}

/* Every variable has a name. */
static void parse_environment(const uint8_t *input, size_t length) {
  int file = memfd_create("environment", 0);
  if (write(file, input, length) != (ssize_t)length || lseek(file, 0, SEEK_SET) != 0) abort();
  if (setjmp(ended) == 0)
    for (char **each = load_environment(file, "/folder"); *each; each++)
      if (!strchr(*each + 1, '=')) abort();
  close(file);
  while (taken > 0) free(blocks[--taken]);
}

static void parse_log(const uint8_t *input, size_t length) {
  char *name = memcpy(calloc(1, length + 1), input, length);
  uint64_t start;
  struct text again;
  if (read_start(name, PART, &start) && strcmp(name_file(&again, PART, start), name) != 0) abort();
  read_start(name, INDEX, &start);
  free(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t length);
int LLVMFuzzerTestOneInput(const uint8_t *input, size_t length) {
  static char *none[] = {"OWN=1", NULL};
  void (*const parse[])(const uint8_t *, size_t) = {parse_request, parse_environment, parse_log};
  environ = none;
  if (length > 0 && input[0] < 3) parse[input[0]](input + 1, length - 1);
  return 0;
}

#ifdef REPLAY
#undef main
/* Without libFuzzer: each argument is a file with an input. */
int main(int count, char **argument) {
  for (int number = 1; number < count; number++) {
    static uint8_t input[65536];
    int file = open(argument[number], O_RDONLY);
    size_t length = read_all(file, input, sizeof input);
    close(file);
    /* On the heap, so that a read behind its end is seen. */
    uint8_t *copy = memcpy(malloc(length + 1), input, length);
    LLVMFuzzerTestOneInput(copy, length);
    free(copy);
  }
  return 0;
}
#endif
