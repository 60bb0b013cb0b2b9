// SPDX-License-Identifier: Apache-2.0
// Runs a program in which the kernel refuses a system call, for ever and for its children too: a filter of
// seccomp, written by hand.
//
// usage: deny ERRNO RULE... -- [NAME=VALUE...] PROGRAM [ARGUMENT...]
// RULE: CALL[,N OPERATOR VALUE]...  CALL is a number; each condition is on the low 32 bits of argument N:
// =: equal; &: all these bits are set; !: not all of them; >: greater.  A call of which all conditions hold
// fails with ERRNO (a number), or, in a RULE that begins with E:, as "E:CALL...", with that error E.
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "truth.h"

enum { kMaxInstructions = 256 };

static struct sock_filter g_filter[kMaxInstructions];
static unsigned short g_size;

static void add(uint16_t code, uint8_t jump_true, uint8_t jump_false, uint32_t value) {
  if (g_size == kMaxInstructions) die("deny: too many rules");
  g_filter[g_size++] = (struct sock_filter)BPF_JUMP(code, value, jump_true, jump_false);
}

static void load(size_t offset) {
  add(BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)offset);
}

static uint32_t number_at(char** at) {
  char* end;
  const unsigned long number = strtoul(*at, &end, 0);
  if (end == *at) die("deny: a number is missing in a rule");
  *at = end;
  return (uint32_t)number;
}

// Jumps over what is left of the rule where a condition does not hold; how far is known at its end.
static void add_rule(char* at, uint32_t error) {
  unsigned short jumps[8];
  int jump_count = 0;
  uint32_t number = number_at(&at);
  if (*at == ':') {
    error = number;
    ++at;
    number = number_at(&at);
  }
  load(offsetof(struct seccomp_data, nr));
  jumps[jump_count++] = g_size;
  add(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, number);
  while (*at == ',') {
    ++at;
    const uint32_t argument = number_at(&at);
    const char comparison = *at++;
    const uint32_t value = number_at(&at);
    if (argument > 5 || jump_count == 8) die("deny: a rule is wrong");
    load(offsetof(struct seccomp_data, args) + 8 * argument);
    if (comparison == '&' || comparison == '!') add(BPF_ALU | BPF_AND | BPF_K, 0, 0, value);
    jumps[jump_count++] = g_size;
    add((uint16_t)(BPF_JMP | BPF_K | (comparison == '>' ? BPF_JGT : BPF_JEQ)), 0, comparison == '!', value);
  }
  if (*at != '\0') die("deny: a rule is wrong");
  add(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | error);
  for (int i = 0; i < jump_count; ++i) {
    const uint8_t distance = (uint8_t)(g_size - jumps[i] - 1);
    // "!" goes on where the comparison fails, and marked itself so.
    if (g_filter[jumps[i]].jf == 1) {
      g_filter[jumps[i]].jf = 0;
      g_filter[jumps[i]].jt = distance;
    } else {
      g_filter[jumps[i]].jf = distance;
    }
  }
}

int main(int argc, char** argv) {
  int at = 1;
  const uint32_t error = at < argc ? (uint32_t)atoi(argv[at++]) : 0;
  load(offsetof(struct seccomp_data, arch));
  add(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, AUDIT_ARCH_X86_64);
  add(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
  for (; at < argc && strcmp(argv[at], "--") != 0; ++at) add_rule(argv[at], error);
  add(BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW);
  if (error == 0 || ++at >= argc) die("usage: deny ERRNO RULE... -- [NAME=VALUE...] PROGRAM [ARGUMENT...]");
  for (; at < argc && strchr(argv[at], '=') != NULL; ++at) putenv(argv[at]);
  if (at >= argc) die("deny: no program given");
  const struct sock_fprog program = {g_size, g_filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    die("deny: the kernel takes no filter");
  }
  execvp(argv[at], argv + at);
  die("deny: the program cannot be executed");
}
