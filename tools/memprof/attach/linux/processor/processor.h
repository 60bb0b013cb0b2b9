// SPDX-License-Identifier: Apache-2.0
// What depends on the processor when code is to run in another process: registers, the frame of a signal, and the
// code that makes the calls.  Each processor has its folder (src/cpu/NAME/memprof/attach/linux/processor), which defines all of this.
//
// Threads: no state.
// Failure: functions that return bool return false where the system refuses (the thread is gone or not stopped).
#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace memprof::cli::processor {

// false: this memprof cannot attach; the other functions must not be called.
bool is_supported();

// General registers of a stopped thread, as the kernel has them.
struct Registers {
  std::array<uint64_t, 40> words{};
};

bool read_registers(pid_t thread, Registers* registers);
bool write_registers(pid_t thread, const Registers& registers);

// Those of floating point and vectors, as the kernel has them.
bool read_vectors(pid_t thread, std::string* state);
bool write_vectors(pid_t thread, const std::string& state);

uint64_t program_counter(const Registers& registers);
uint64_t stack_pointer(const Registers& registers);
// Where the C library has what belongs to the thread; 0: it cannot be told.
uint64_t thread_pointer(pid_t thread, const Registers& registers);
// In the order of DWARF's numbers, from 0 on.
std::vector<uint64_t> dwarf_registers(const Registers& registers);
unsigned dwarf_stack_pointer();
// The return address of a function that has no frame yet, where it is in a register; 0: it is on the stack.
uint64_t link_register(const Registers& registers);

// The ELF machine of programs that can be attached to.
uint16_t elf_machine();
// In what state of the processor the thread is in which no function can be called ("code of 32 bits"); nullptr:
// in none.
const char* state_without_calls(pid_t thread, const Registers& registers);

// The system call that a thread waited in when it was asked to stop.
struct WaitingCall {
  long number = -1;  // -1: in none, or it is not known
  uint64_t arguments[6] = {};
  uint64_t stack_pointer = 0;
  uint64_t program_counter = 0;  // behind the call
  uint64_t sleeps = 0;           // how often it had gone to sleep
};
// Whether registers of a stopped thread are not all that repeat_interrupted_call needs.
bool needs_waiting_call();

enum class Repeat {
  kNone,      // there is nothing to repeat
  kByKernel,  // unless a signal handler runs first
  kAlways,    // also then: see end_repeated_call
};
// A stop ends some system calls with EINTR though no signal handler ran, and others begin anew.  Makes that the
// thread repeats such a call, or waits on for the rest of its time, when it goes on from an event stop.  `was`: what
// the thread waited in, if it has not slept since.
Repeat repeat_interrupted_call(Registers* registers, const WaitingCall& was);
// Of a call that is to be repeated always: it ends with EINTR now, because a signal handler is about to run.
void end_repeated_call(Registers* registers);
// Of a thread that is stopped before or behind a system call: whether it is before this one.
bool is_before_system_call(const Registers& registers, long number);
int64_t result(const Registers& registers);

// An instruction that makes a system call, and one that returns, as bytes to look for in the C library: its own functions set errno
// where a call fails, which a frame does not put back.
std::string_view system_call_code();
// Registers for a system call in a thread that is stopped, made by such instructions at `code`; it returns to `sigreturn_code`,
// which restores the thread by its frame (signal_frame) at `frame_address`.
Registers system_call(const Registers& from, uint64_t code, long number, uint64_t frame_address,
                      uint64_t sigreturn_code, const std::array<uint64_t, 6>& arguments);

// A frame as the kernel leaves it for a signal handler: rt_sigreturn with it restores the registers, the vectors
// and the signal mask.  `address`, 8 below a multiple of 64, is where the frame will lie, `sigreturn_code` what its
// return address is.  A system call that was interrupted is repeated, or ends with EINTR.
std::string signal_frame(const Registers& registers, const std::string& vectors, uint64_t signal_mask,
                         uint64_t address, uint64_t sigreturn_code);
// Where in the frame its sigaltstack is, which a debugger cannot read: the thread itself stores it there.
uint64_t alternate_stack_in_frame();
// What rt_sigreturn takes as the stack pointer.
uint64_t context_in_frame();

// Where unwind tables do not lead out of the kernel's frame for a signal handler: the words of Registers that lie in it,
// behind the stack pointer that rt_sigreturn takes. No words: the tables do.
struct RegistersInFrame {
  uint64_t at = 0;
  size_t words = 0;
};
RegistersInFrame registers_in_frame();

// The code of the C library, or of the kernel's own library (vDSO), that a handler returns to, as bytes to look for.
std::string_view sigreturn_code();

// The code that executes a CallProgram (call_program.h); it can lie at any address.
std::string_view stub_code();
// Registers that begin it.
Registers stub_call(const Registers& from, uint64_t code, uint64_t data, uint64_t stack);

// The address that a return address on the stack stands for: some processors sign them.
uint64_t return_address(uint64_t word);
// Whether the 8 bytes before a return address end in a call.
bool ends_in_call(const unsigned char* eight_bytes);

// What the kernel tells seccomp filters of the processor (AUDIT_ARCH_*).
uint32_t audit_architecture();

}  // namespace memprof::cli::processor
