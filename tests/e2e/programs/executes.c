// SPDX-License-Identifier: Apache-2.0
// `executes ways`: executes this program in each way that the C library has, with arguments and an environment, in fork
// and vfork children; what each was given stands in a line of standard output.  Then a program that is not there, in
// each of them: with what error.
// `executes often COUNT CMD`: CMD, as vfork children and by posix_spawn in turn, and as often a program that is not there.
// `executes each CMD`: CMD in each of these ways, in a fork and a vfork child; with what status it ended.
// `executes bad CMD`: CMD with pointers that are no memory, each in a child; how that ended.
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "truth.h"

enum {
  kExecl,
  kExecle,
  kExeclp,
  kExecv,
  kExecve,
  kExecveat,
  kExecvp,
  kExecvpe,
  kFexecve,
  kSpawn,
  kSpawnp,
  kWays
};

extern char** environ;
static char* g_environment[] = {"WAY=own", NULL};

static int spawn(int way, const char* path, char** argv) {
  pid_t pid = -1;
  const int error = way == kSpawn ? posix_spawn(&pid, path, NULL, NULL, argv, environ)
                                  : posix_spawnp(NULL, path, NULL, NULL, argv, g_environment);
  if (error == 0 && wait(NULL) <= 0) abort();
  return error;
}

static int execute(int way, const char* path, char** argv) {
  switch (way) {
    case kExecl:
      execl(path, argv[0], argv[1], argv[2], argv[3], (char*)NULL);
      break;
    case kExecle:
      execle(path, argv[0], argv[1], argv[2], argv[3], (char*)NULL, g_environment);
      break;
    case kExeclp:
      execlp(path, argv[0], argv[1], (char*)NULL);
      break;
    case kExecv:
      execv(path, argv);
      break;
    case kExecve:
      execve(path, argv, g_environment);
      break;
    case kExecveat:
      execveat(AT_FDCWD, path, argv, environ, 0);
      break;
    case kExecvp:
      execvp(path, argv);
      break;
    case kExecvpe:
      execvpe(path, argv, g_environment);
      break;
    case kFexecve: {
      const int fd = open(path, O_RDONLY | O_CLOEXEC);
      if (fd >= 0) fexecve(fd, argv, environ);
      break;
    }
    default:
      return spawn(way, path, argv);
  }
  return errno;
}

static void in_child(int way, const char* path, int is_vfork) {
  char number[16];
  snprintf(number, sizeof(number), "%d", way);
  char* argv[] = {"the name", "say", number, "", NULL};
  fflush(stdout);
  if (way >= kSpawn) {
    printf("way %d: error %d\n", way, execute(way, path, argv));
    return;
  }
  int status = 0;
  const pid_t pid = is_vfork ? vfork() : fork();
  if (pid == 0) _exit(execute(way, path, argv));
  if (waitpid(pid, &status, 0) != pid) abort();
  printf("way %d: status %d\n", way, status);
}

static void ways(const char* self) {
  for (int is_vfork = 0; is_vfork < 2; ++is_vfork) {
    for (int way = 0; way < kWays; ++way) {
      in_child(way, self, is_vfork);
      in_child(way, "/nowhere/nothing", is_vfork);
      in_child(way, "no-such-program", is_vfork);
    }
  }
}

static void each(const char* program) {
  for (int is_vfork = 0; is_vfork < 2; ++is_vfork) {
    for (int way = 0; way < kWays; ++way) in_child(way, program, is_vfork);
  }
}

static int execute_bad(int way, const char* path, char** argv, char** envp) {
  pid_t pid = -1;
  switch (way) {
    case kExecv:
      execv(path, argv);
      break;
    case kExecve:
      execve(path, argv, envp);
      break;
    case kExecveat:
      execveat(AT_FDCWD, path, argv, envp, 0);
      break;
    case kExecvp:
      execvp(path, argv);
      break;
    case kExecvpe:
      execvpe(path, argv, envp);
      break;
    case kFexecve:
      fexecve(open("/bin/true", O_RDONLY | O_CLOEXEC), argv, envp);
      break;
    case kSpawn:
      return posix_spawn(&pid, path, NULL, NULL, argv, envp);
    default:
      return posix_spawnp(&pid, path, NULL, NULL, argv, envp);
  }
  return errno;
}

enum { kBadPointers = 5, kPageBytes = 4096 };

static void bad(char* program) {
  char* const pages = mmap(NULL, 2 * kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED || munmap(pages + kPageBytes, kPageBytes) != 0) abort();
  char** const last =
      (char**)(pages + kPageBytes) - 1;  // an array, or a text, that goes on where there is no memory
  memset(last, 'x', sizeof(*last));
  char* const paths[kBadPointers] = {program, NULL, (char*)8, (char*)-1, (char*)last};
  char* good_argv[] = {"x", NULL};
  char* bad_argv[] = {"x", (char*)8, NULL};
  char** const argvs[kBadPointers] = {good_argv, NULL, (char**)8, bad_argv, last};
  char* bad_environment[] = {"WAY=own", environ[0], (char*)8, NULL};
  char** const environments[kBadPointers] = {environ, NULL, (char**)8, bad_environment, last};
  for (int way = kExecv; way < kWays; ++way) {
    for (int i = 1; i < kBadPointers * kBadPointers * kBadPointers; ++i) {
      const int path = i % kBadPointers;
      const int argv_ = i / kBadPointers % kBadPointers;
      const int envp = i / kBadPointers / kBadPointers;
      int status = 0;
      fflush(stdout);
      const pid_t pid = fork();
      if (pid == 0) _exit(execute_bad(way, paths[path], argvs[argv_], environments[envp]));
      if (waitpid(pid, &status, 0) != pid) abort();
      printf("way %d, path %d, arguments %d, environment %d: status %x\n", way, path, argv_, envp, status);
    }
  }
}

static void often(int count, char* program) {
  char* argv[] = {program, NULL};
  for (volatile int i = 0; i < count; ++i) {
    if (vfork() == 0) {
      execvp("/nowhere/nothing", argv);
      execv(program, argv);
      _exit(1);
    }
    pid_t pid;
    if (posix_spawn(&pid, "/nowhere/nothing", NULL, NULL, argv, environ) == 0) abort();
    if (posix_spawn(&pid, program, NULL, NULL, argv, environ) != 0) abort();
    while (wait(NULL) > 0) {
    }
  }
}

int main(int argc, char** argv) {
  if (argc >= 2 && strcmp(argv[1], "say") == 0) {
    const char* way = getenv("WAY");
    printf("%s, %d arguments, the last \"%s\", WAY %s\n", argv[0], argc, argv[argc - 1],
           way != NULL ? way : "none");
  } else if (argc == 3 && strcmp(argv[1], "each") == 0) {
    each(argv[2]);
  } else if (argc == 3 && strcmp(argv[1], "bad") == 0) {
    bad(argv[2]);
  } else if (argc == 2) {
    ways(argv[0]);
  } else if (argc == 4) {
    often(atoi(argv[2]), argv[3]);
  }
  return 0;
}
