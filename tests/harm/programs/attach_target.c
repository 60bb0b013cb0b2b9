// SPDX-License-Identifier: Apache-2.0
// Checks itself until its standard input ends: attach_target WHAT [FILTERED_CALL ANSWER].  Prints "ready", and at the end "ok", or what was
// wrong.  WHAT: registers | waits | signals | transfers | mixed.  FILTERED_CALL is answered with ANSWER (seccomp).
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define WAIT_MS 4

static volatile int g_is_over;
static volatile unsigned long g_alarms;

static void wrong(const char* what, long value) {
  printf("%s: %ld (%s)\n", what, value, strerror(errno));
  fflush(stdout);
  _exit(1);
}

static void check(const char* what, long value, long wanted) {
  if (value != wanted) wrong(what, value);
}

static void* read_to_end(void* unused) {
  char buffer[64];
  while (read(STDIN_FILENO, buffer, sizeof(buffer)) > 0) {
  }
  g_is_over = 1;
  return unused;
}

// ---- memory ----

#define BLOCKS 64
static unsigned char* g_blocks[BLOCKS];
static size_t g_sizes[BLOCKS];

static void use_memory(unsigned round) {
  const unsigned slot = round % BLOCKS;
  for (size_t i = 0; i < g_sizes[slot]; ++i) check("memory", g_blocks[slot][i], (unsigned char)slot);
  free(g_blocks[slot]);
  g_sizes[slot] = 16 + round * 37 % 3000;
  g_blocks[slot] = malloc(g_sizes[slot]);
  memset(g_blocks[slot], (int)slot, g_sizes[slot]);
}

// ---- registers ----

#ifdef __x86_64__
// General ones, the direction flag, the red zone, the x87 stack, rounding and vectors, over a while.
static void use_registers(void) {
  unsigned long bad = 0;
  unsigned char in[16], out[16];
  for (int i = 0; i < 16; ++i) in[i] = (unsigned char)(i * 7 + 3);
  unsigned control = 0x1f80 | 0x2000, after = 0;
  __asm__ volatile(
      "movdqu %2, %%xmm15\n movdqu %2, %%xmm0\n ldmxcsr %3\n fld1\n"
      "mov $0x1111, %%r8\n mov $0x4444, %%r11\n mov $0x5555, %%r12\n mov $0x8888, %%r15\n"
      "movq $0x1234567, -64(%%rsp)\n movq $0x7654321, -128(%%rsp)\n"
      "std\n mov $400000, %%rcx\n1: dec %%rcx\n jnz 1b\n"
      "cmp $0x1111, %%r8\n je 2f\n or $1, %0\n2: cmp $0x4444, %%r11\n je 3f\n or $2, %0\n"
      "3: cmp $0x5555, %%r12\n je 4f\n or $4, %0\n4: cmp $0x8888, %%r15\n je 5f\n or $8, %0\n"
      "5: cmpq $0x1234567, -64(%%rsp)\n je 6f\n or $16, %0\n6: cmpq $0x7654321, -128(%%rsp)\n je 7f\n or $32, %0\n"
      "7: sub $256, %%rsp\n pushfq\n pop %%rax\n add $256, %%rsp\n cld\n test $0x400, %%eax\n jnz 8f\n or $64, %0\n"
      "8: movdqu %%xmm15, %1\n fstp %%st(0)\n"
      : "+r"(bad), "=m"(out)
      : "m"(in), "m"(control)
      : "rax", "rcx", "r8", "r11", "r12", "r15", "xmm0", "xmm15", "memory", "cc");
  __asm__ volatile("stmxcsr %0" : "=m"(after));
  control = 0x1f80;
  __asm__ volatile("ldmxcsr %0" ::"m"(control));
  if (memcmp(in, out, sizeof(in)) != 0) bad |= 128;
  if ((after & 0x6000) != 0x2000) bad |= 256;
  check("registers", (long)bad, 0);
}
#else
static void use_registers(void) {
  static double before = 0;
  double x = 0.5, sum = 0;
  for (int i = 0; i < 100000; ++i) {
    x = 3.9 * x * (1 - x);
    sum += x * 1e-3;
  }
  if (before != 0 && before != sum) wrong("calculates something else", 0);
  before = sum;
}
#endif

// ---- waits ----

static double now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

// A wait that is interrupted where the command was killed or late ends with EINTR, as by a signal handler.
static void wait_as(unsigned kind) {
  static int epoll = -1;
  static int word;
  if (epoll < 0) epoll = epoll_create1(0);
  struct timespec time = {0, WAIT_MS * 1000000L};
  struct epoll_event event;
  const double begin = now_ms();
  long result = 0;
  errno = 0;
  switch (kind % 5) {
    case 0:
      result = nanosleep(&time, NULL);
      break;
    case 1:
      result = poll(NULL, 0, WAIT_MS);
      break;
    case 2:
      result = epoll_wait(epoll, &event, 1, WAIT_MS);
      break;
    case 3:
      result = syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &time, NULL, 0);
      if (result == -1 && errno == ETIMEDOUT) result = 0;
      break;
    default:
      result = clock_nanosleep(CLOCK_MONOTONIC, 0, &time, NULL);
      if (result == EINTR) errno = EINTR;
  }
  if (result != 0 && errno == EINTR) return;
  check("a wait", result, 0);
  if (now_ms() - begin < WAIT_MS - 0.1) wrong("a wait too short", (long)kind);
}

// ---- signals ----

static sigset_t g_mask;

static void on_alarm(int signal) {
  const int before = errno;
  (void)signal;
  for (volatile int i = 0; i < 1000; ++i) {
  }
  ++g_alarms;
  errno = before;
}

static void begin_signals(void) {
  struct sigaction action;
  memset(&action, 0, sizeof(action));
  action.sa_handler = on_alarm;
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, NULL);
  const struct itimerval often = {{0, 3000}, {0, 3000}};
  setitimer(ITIMER_REAL, &often, NULL);
}

static void use_signals(void) {
  sigset_t now;
  pthread_sigmask(SIG_BLOCK, NULL, &now);
  for (int i = 1; i < 32; ++i) check("the signal mask", sigismember(&now, i), sigismember(&g_mask, i));
  stack_t stack;
  if (sigaltstack(NULL, &stack) == 0) check("a signal stack", stack.ss_flags, SS_DISABLE);
  errno = 0;
  const int fd = open("/nowhere/at/all", O_RDONLY);
  for (volatile int i = 0; i < 2000; ++i) {
  }
  if (fd != -1 || errno != ENOENT) wrong("errno", fd);
}

// ---- transfers ----

static int g_pair[2];
static char g_buffer[1 << 18];

static void* drain(void* unused) {
  static char buffer[65536];
  while (read(g_pair[0], buffer, sizeof(buffer)) > 0) usleep(300);
  return unused;
}

static void use_transfers(void) {
  static pthread_t thread;
  if (g_pair[1] == 0) {
    check("socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, g_pair), 0);
    check("thread", pthread_create(&thread, NULL, drain, NULL), 0);
  }
  // Between the look at a thread and its stop it may begin one (docs/attach.md): seldom, so once is let pass.
  static int cuts = 0;
  const ssize_t sent = send(g_pair[1], g_buffer, sizeof(g_buffer), 0);
  if (sent != sizeof(g_buffer) && (sent <= 0 || ++cuts > 1)) wrong("a send", sent);
  usleep(20000);
}

static void load_filter(long call, unsigned answer) {
  struct sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                               BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)call, 0, 1),
                               BPF_STMT(BPF_RET | BPF_K, answer),
                               BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  struct sock_fprog filter = {4, code};
  check("no_new_privs", prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
  check("seccomp", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter), 0);
}

int main(int argc, char** argv) {
  const char* what = argc > 1 ? argv[1] : "mixed";
  pthread_t reader;
  sigemptyset(&g_mask);
  sigaddset(&g_mask, SIGUSR2);
  pthread_sigmask(SIG_SETMASK, &g_mask, NULL);
  signal(SIGUSR1, on_alarm);
  const int is_mixed = strcmp(what, "mixed") == 0;
  check("thread", pthread_create(&reader, NULL, read_to_end, NULL), 0);
  if (is_mixed || strcmp(what, "signals") == 0) begin_signals();
  if (argc > 3) load_filter(atol(argv[2]), (unsigned)strtoul(argv[3], NULL, 0));
  puts("ready");
  fflush(stdout);
  for (unsigned round = 0; !g_is_over; ++round) {
    use_memory(round);
    if (is_mixed || strcmp(what, "registers") == 0) use_registers();
    if (is_mixed || strcmp(what, "waits") == 0) wait_as(round);
    if (is_mixed || strcmp(what, "signals") == 0) use_signals();
    if (strcmp(what, "transfers") == 0) use_transfers();
  }
  puts("ok");
  return 0;
}
