// SPDX-License-Identifier: Apache-2.0
// Processors that have no file of their own (processor.h): attaching is refused there.
#include "memprof/attach/processor/processor.h"

#if !defined(__x86_64__) && !defined(__aarch64__)

#include <cstdlib>

// is_supported() says so before anything else is called.
namespace memprof::cli::processor {

bool is_supported() {
  return false;
}
bool read_registers(pid_t, Registers*) {
  return false;
}
bool write_registers(pid_t, const Registers&) {
  return false;
}
bool read_vectors(pid_t, std::string*) {
  return false;
}
bool write_vectors(pid_t, const std::string&) {
  return false;
}
uint64_t program_counter(const Registers&) {
  std::abort();
}
uint64_t stack_pointer(const Registers&) {
  std::abort();
}
uint64_t thread_pointer(pid_t, const Registers&) {
  std::abort();
}
std::vector<uint64_t> dwarf_registers(const Registers&) {
  std::abort();
}
uint16_t elf_machine() {
  std::abort();
}
uint64_t link_register(const Registers&) {
  std::abort();
}
unsigned dwarf_stack_pointer() {
  std::abort();
}
const char* state_without_calls(pid_t, const Registers&) {
  std::abort();
}
bool needs_waiting_call() {
  std::abort();
}
Repeat repeat_interrupted_call(Registers*, const WaitingCall&) {
  std::abort();
}
void end_repeated_call(Registers*) {
  std::abort();
}
bool is_before_system_call(const Registers&, long) {
  std::abort();
}
int64_t result(const Registers&) {
  std::abort();
}
std::string_view system_call_code() {
  std::abort();
}
Registers system_call(const Registers&, uint64_t, long, uint64_t, uint64_t, const std::array<uint64_t, 6>&) {
  std::abort();
}
std::string signal_frame(const Registers&, const std::string&, uint64_t, uint64_t, uint64_t) {
  std::abort();
}
uint64_t alternate_stack_in_frame() {
  std::abort();
}
uint64_t context_in_frame() {
  std::abort();
}
RegistersInFrame registers_in_frame() {
  std::abort();
}
std::string_view sigreturn_code() {
  std::abort();
}
std::string_view stub_code() {
  std::abort();
}
Registers stub_call(const Registers&, uint64_t, uint64_t, uint64_t) {
  std::abort();
}
uint64_t return_address(uint64_t) {
  std::abort();
}
bool ends_in_call(const unsigned char*) {
  std::abort();
}
uint32_t audit_architecture() {
  std::abort();
}

}  // namespace memprof::cli::processor

#endif
