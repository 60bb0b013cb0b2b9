// SPDX-License-Identifier: Apache-2.0
#include "platform/posix/signals.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

namespace memprof::platform {
namespace {

struct Name {
  const char* text;
  int number;
};

// Those that people use for it; others go by number.
constexpr Name kNames[] = {{"HUP", SIGHUP},     {"INT", SIGINT},   {"QUIT", SIGQUIT}, {"USR1", SIGUSR1},
                           {"USR2", SIGUSR2},   {"ALRM", SIGALRM}, {"TERM", SIGTERM}, {"CONT", SIGCONT},
                           {"WINCH", SIGWINCH}, {"IO", SIGIO},     {"URG", SIGURG},
#ifdef SIGPWR
                           {"PWR", SIGPWR}
#endif
};

void (*g_handler)();
int g_signal = 0;

void handle(int) {
  const int saved = errno;
  g_handler();
  errno = saved;
}

// -1: no number.
int parse_number(const char* text) {
  int number = 0;
  const char* at = text;
  for (; *at >= '0' && *at <= '9' && number < 1000; ++at) {
    number = number * 10 + (*at - '0');
  }
  return at == text || *at != '\0' ? -1 : number;
}

int parse_signal(const char* name) {
  if (strncmp(name, "SIG", 3) == 0) {
    name += 3;
  }
  for (const Name& known : kNames) {
    if (strcmp(name, known.text) == 0) {
      return known.number;
    }
  }
#ifdef SIGRTMIN
  if (strncmp(name, "RTMIN", 5) == 0) {
    const int above = name[5] == '\0' ? 0 : name[5] == '+' ? parse_number(name + 6) : -1;
    return above < 0 ? -1 : SIGRTMIN + above;
  }
#endif
  return parse_number(name);
}

}  // namespace

bool on_signal(const char* name, void (*handler)()) {
#ifdef SIGRTMAX
  const int last = SIGRTMAX;
#else
  const int last = NSIG - 1;
#endif
  const int number = parse_signal(name);
  if (number <= 0 || number > last) {
    return false;
  }
  g_handler = handler;
  struct sigaction action{};
  action.sa_handler = handle;
  // On the program's own stack for signals where it has one: Go and others cannot do without.
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  g_signal = number;
  return sigaction(number, &action, nullptr) == 0;
}

int asked_signal() {
  return g_signal;
}

SignalUse use_of(void (*handler)(int)) {
  return handler == handle    ? SignalUse::kOurs
         : handler == SIG_DFL ? SignalUse::kDefault
         : handler == SIG_IGN ? SignalUse::kIgnored
                              : SignalUse::kPrograms;
}

}  // namespace memprof::platform
