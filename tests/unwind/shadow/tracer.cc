// SPDX-License-Identifier: Apache-2.0
#include "tracer.h"

#include <sys/syscall.h>
#include <ucontext.h>

#include "call_site.h"

namespace shadow {

Tracer g_tracer;

[[noreturn]] void fail(const char* text) {
  size_t length = 0;
  while (text[length] != '\0') {
    ++length;
  }
  long unused;
  asm volatile("syscall"
               : "=a"(unused)
               : "a"(SYS_write), "D"(2), "S"(text), "d"(length)
               : "rcx", "r11", "memory");
  for (;;) {
    asm volatile("syscall" : "=a"(unused) : "a"(SYS_exit_group), "D"(99) : "rcx", "r11", "memory");
  }
}

namespace {

const File* file_of(uint64_t address) {
  for (int i = 0; i < g_tracer.file_count; ++i) {
    if (address - g_tracer.files[i].start < g_tracer.files[i].limit - g_tracer.files[i].start) {
      return &g_tracer.files[i];
    }
  }
  return nullptr;
}

// The frames below `sp` are gone, however they were left.
void drop_below(uint64_t sp) {
  while (g_tracer.depth > 0 && g_tracer.entries[g_tracer.depth - 1].slot < sp) {
    --g_tracer.depth;
    ++g_tracer.log->passed_over;
  }
}

void write_sample() {
  if (g_tracer.log->used_words + g_tracer.depth + 1 > kLogWords) {
    ++g_tracer.log->lost;
    return;
  }
  g_tracer.log->words[g_tracer.log->used_words++] = g_tracer.depth;
  for (uint32_t i = g_tracer.depth; i > 0; --i) {  // leaf first
    g_tracer.log->words[g_tracer.log->used_words++] = g_tracer.entries[i - 1].return_address;
  }
  ++g_tracer.log->samples;
}

// A hook that was sampled returns untraced: where its caller calls something, it has.  (Its caller has pushed more since,
// so the stack does not tell.  Until then only we and the allocator run, which is in libc.)
void drop_sampled_hook(const File* caller) {
  while (g_tracer.depth > 0 && g_tracer.entries[g_tracer.depth - 1].is_sampled &&
         caller != file_of(g_tracer.libc) &&
         caller == file_of(g_tracer.entries[g_tracer.depth - 1].return_address)) {
    --g_tracer.depth;
    ++g_tracer.log->passed_over;
  }
}

void do_call(const Step& step, const File* caller, greg_t* registers) {
  const uint64_t slot = static_cast<uint64_t>(registers[REG_RSP]) - 8;
  *reinterpret_cast<uint64_t*>(slot) = step.next;
  registers[REG_RSP] = static_cast<greg_t>(slot);
  registers[REG_RIP] = static_cast<greg_t>(step.target);
  drop_below(slot + 8);
  drop_sampled_hook(caller);
  ++g_tracer.log->calls;
  if (g_tracer.forget != 0 && g_tracer.log->calls % g_tracer.forget == 0) {
    return;
  }
  if (g_tracer.depth == kMaxEntries) {
    fail("shadow: more frames than there is room for\n");
  }
  g_tracer.entries[g_tracer.depth++] = {slot, step.next, false};
}

void do_return(const Step& step, greg_t* registers) {
  const uint64_t slot = static_cast<uint64_t>(registers[REG_RSP]);
  const uint64_t to = *reinterpret_cast<const uint64_t*>(slot);
  registers[REG_RSP] = static_cast<greg_t>(slot + 8 + step.pop_bytes);
  registers[REG_RIP] = static_cast<greg_t>(to);
  drop_below(slot);
  ++g_tracer.log->returns;
  if (g_tracer.depth > 0 && g_tracer.entries[g_tracer.depth - 1].slot == slot) {
    g_tracer.log->changed += g_tracer.entries[--g_tracer.depth].return_address != to ? 1 : 0;
  } else if (file_of(to) != nullptr) {
    ++g_tracer.log->without_partner;
  }
}

}  // namespace

void push_signal_frame(uint64_t* slot, void* context) {
  greg_t* registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  if (g_tracer.log == nullptr || g_tracer.depth + 2 > kMaxEntries) {
    fail("shadow: a signal before the program began, or more frames than there is room for\n");
  }
  drop_below(static_cast<uint64_t>(registers[REG_RSP]));
  // memprof keeps an interrupted place as the address after it, like that of a call.
  g_tracer.entries[g_tracer.depth++] = {reinterpret_cast<uint64_t>(&registers[REG_RIP]),
                                        static_cast<uint64_t>(registers[REG_RIP]) + 1, false};
  g_tracer.entries[g_tracer.depth++] = {reinterpret_cast<uint64_t>(slot), *slot, false};
}

void on_trap(int, siginfo_t*, void* context) {
  greg_t* registers = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  const uint64_t address = static_cast<uint64_t>(registers[REG_RIP]) - 1;
  if (address == g_tracer.event) {
    drop_below(static_cast<uint64_t>(registers[REG_RSP]));
    write_sample();
    if (g_tracer.depth > 0) {
      g_tracer.entries[g_tracer.depth - 1].is_sampled = true;
    }
    // Its first instruction: `push %rbp`.
    registers[REG_RSP] -= 8;
    *reinterpret_cast<greg_t*>(registers[REG_RSP]) = registers[REG_RBP];
    return;
  }
  const File* file = file_of(address);
  const Step step = file == nullptr ? Step{Step::kUnknown, 0, 0, 0}
                                    : decode(file->original + (address - file->start), address, registers);
  if (step.kind == Step::kCall) {
    do_call(step, file, registers);
  } else if (step.kind == Step::kReturn) {
    do_return(step, registers);
  } else {
    fail("shadow: a breakpoint where there is no call and no return that it can read\n");
  }
}

}  // namespace shadow
