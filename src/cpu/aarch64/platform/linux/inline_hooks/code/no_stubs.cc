// SPDX-License-Identifier: Apache-2.0
// Hooks inside modules are not written for this processor yet.
#include "platform/linux/inline_hooks/code/callback_stub.h"
#include "platform/linux/inline_hooks/code/register_gate.h"
#include "platform/linux/inline_hooks/code/stubs.h"

namespace memprof::platform {

bool prepare_gate(const GateHandlers&) {
  return false;
}
uint64_t gate_of_functions() {
  return 0;
}
uint64_t gate_of_callbacks() {
  return 0;
}

Refusal write_stub(HookSite*, const uint8_t*, size_t, uint8_t*, uint64_t) {
  return Refusal::kUnsupported;
}

size_t bytes_of_empty(const uint8_t*) {
  return 0;
}
void write_callback_stub(uint8_t*, void (*)(), uint64_t) {}

}  // namespace memprof::platform
