// SPDX-License-Identifier: Apache-2.0
// Signal handlers of the traced program.  The kernel makes their frames, no call does: each handler is
// entered through a piece of code that notes the interrupted place and the return address, and jumps on.
//
// Signals: handlers on the stack that they interrupt, and that do not block SIGTRAP; the other stack is
// taken.
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>

#include "tracer.h"

extern "C" {
__attribute__((visibility("hidden"))) uint64_t memprof_shadow_handlers[NSIG];
__attribute__((visibility("hidden"))) void memprof_shadow_enter(int, siginfo_t*, void*);
}

extern "C" __attribute__((visibility("hidden"))) void memprof_shadow_interrupted(uint64_t* slot,
                                                                                 void* context) {
  shadow::push_signal_frame(slot, context);
}

extern "C" __attribute__((visibility("default"))) int sigaction(int signal, const struct sigaction* action,
                                                                struct sigaction* old) {
  const auto real = reinterpret_cast<int (*)(int, const struct sigaction*, struct sigaction*)>(
      dlsym(RTLD_NEXT, "sigaction"));
  if (signal == SIGTRAP || signal <= 0 || signal >= NSIG) {
    return real(signal, action, old);
  }
  // glibc 2.41 blocks all signals to take a lock for this one.  It is kept here, and never comes.
  if (signal == SIGABRT) {
    static struct sigaction of_abort{};
    if (old != nullptr) *old = of_abort;
    if (action != nullptr) of_abort = *action;
    return 0;
  }
  const uint64_t before = memprof_shadow_handlers[signal];
  struct sigaction entered{};
  if (action != nullptr) {
    entered = *action;
    if (action->sa_handler != SIG_IGN && action->sa_handler != SIG_DFL) {
      memprof_shadow_handlers[signal] = reinterpret_cast<uint64_t>(action->sa_sigaction);
      entered.sa_sigaction = memprof_shadow_enter;
    }
  }
  const int status = real(signal, action == nullptr ? nullptr : &entered, old);
  if (status == 0 && old != nullptr && old->sa_sigaction == memprof_shadow_enter) {
    old->sa_sigaction = reinterpret_cast<void (*)(int, siginfo_t*, void*)>(before);
  }
  return status;
}

asm(R"(
  .text
  .type memprof_shadow_enter, @function
memprof_shadow_enter:
  push %rdi
  push %rsi
  push %rdx
  mov %rdx, %rsi
  lea 24(%rsp), %rdi
  call memprof_shadow_interrupted
  pop %rdx
  pop %rsi
  pop %rdi
  lea memprof_shadow_handlers(%rip), %rax
  movslq %edi, %rcx
  mov (%rax,%rcx,8), %rax
  jmp *%rax
  .size memprof_shadow_enter, .-memprof_shadow_enter
)");
