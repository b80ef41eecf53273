/*
 * Slows each operation on a regular file, for `npm run test:loaded`. Loaded into a program with LD_PRELOAD.
 * SLOW_FILES_US is the delay in microseconds. A delay of a sync is ten times as long, as on a slow disk.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static void delay(int times) {
  static int us = -1;
  if (us < 0) {
    const char *text = getenv("SLOW_FILES_US");
    us = text ? atoi(text) : 0;
  }
  if (us > 0) usleep(us * times);
}

/* Sockets and pipes are written with the same calls, and are not slowed. */
static int is_file(int fd) {
  struct stat status;
  return fstat(fd, &status) == 0 && S_ISREG(status.st_mode);
}

#define SLOWED(type, name, parameters, arguments, times, condition) \
  type name parameters {                                            \
    static type(*original) parameters;                              \
    if (!original) original = dlsym(RTLD_NEXT, #name);              \
    if (condition) delay(times);                                    \
    return original arguments;                                      \
  }

SLOWED(int, fsync, (int fd), (fd), 10, is_file(fd))
SLOWED(int, fdatasync, (int fd), (fd), 10, is_file(fd))
SLOWED(ssize_t, write, (int fd, const void *data, size_t size), (fd, data, size), 1, is_file(fd))
SLOWED(ssize_t, pwrite64, (int fd, const void *data, size_t size, off64_t at), (fd, data, size, at), 1, is_file(fd))
SLOWED(int, ftruncate64, (int fd, off64_t size), (fd, size), 1, 1)
SLOWED(int, rename, (const char *from, const char *to), (from, to), 1, 1)
SLOWED(int, unlink, (const char *path), (path), 1, 1)
