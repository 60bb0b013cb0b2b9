// SPDX-License-Identifier: Apache-2.0
#include "tests/runtime/toy/toy.h"

namespace toy {
namespace {

thread_local Activation* t_running = nullptr;

// A compiler takes operator new for a function that looks at no memory of ours, and may write it later.
void push(Activation* here, const Function& function) {
  asm volatile("" ::: "memory");
  here->top = new Frame{here->top, &function, 0};
}

void pop(Activation* here) {
  Frame* const done = here->top;
  here->top = done->previous;
  asm volatile("" ::: "memory");
  delete done;
}

}  // namespace

Activation* running() {
  return t_running;
}

[[gnu::noinline]] void run(const Function& function) {
  Activation here{t_running, nullptr};
  t_running = &here;
  push(&here, function);
  while (here.top != nullptr) {
    const Instruction& now = here.top->function->code[here.top->position];
    if (now.operation == Instruction::kCall) {
      push(&here, *now.callee);
      continue;
    }
    if (now.operation == Instruction::kNative) {
      now.native();
    } else {
      pop(&here);
    }
    if (here.top != nullptr) {
      ++here.top->position;
    }
  }
  t_running = here.outer;
}

}  // namespace toy
