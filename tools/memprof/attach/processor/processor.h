// SPDX-License-Identifier: Apache-2.0
// What depends on the processor when code is to run in another process: registers, the frame of a signal, and the
// code that makes the calls.  Each processor has one file, processor_NAME.cc, which defines all of this.
//
// Threads: no state.
// Failure: functions that return bool return false where the system refuses (the thread is gone or not stopped).
#pragma once

#include <sys/types.h>

#include <array>
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
// In the order of DWARF's numbers, the program counter last.
std::vector<uint64_t> dwarf_registers(const Registers& registers);
constexpr unsigned kDwarfStackPointer = 7;

// The ELF machine of programs that can be attached to.
uint16_t elf_machine();
// false: the thread executes code of another mode (32 bits).
bool is_native(const Registers& registers);

// A stop ends some system calls with EINTR though no signal handler ran.  Makes the kernel repeat such a call
// when the thread goes on from an event stop; true: it was one.
bool repeat_interrupted_call(Registers* registers);
// Of a thread that is stopped before or behind a system call: whether it is before this one.
bool is_before_system_call(const Registers& registers, long number);
int64_t result(const Registers& registers);

// Registers for a call of a function of the C library in a thread that is stopped, whose frame (signal_frame)
// lies at `frame_address`: the function returns into the frame, which restores the thread.
Registers function_call(const Registers& from, uint64_t function, uint64_t frame_address,
                        const std::array<uint64_t, 6>& arguments);

// A frame as the kernel leaves it for a signal handler: rt_sigreturn with it restores the registers, the vectors
// and the signal mask.  `address`, 8 below a multiple of 64, is where the frame will lie, `sigreturn_code` what its
// return address is.  A system call that was interrupted is repeated, or ends with EINTR.
std::string signal_frame(const Registers& registers, const std::string& vectors, uint64_t signal_mask,
                         uint64_t address, uint64_t sigreturn_code);
// Where in the frame its sigaltstack is, which a debugger cannot read: the thread itself stores it there.
uint64_t alternate_stack_in_frame();
// What rt_sigreturn takes as the stack pointer.
uint64_t context_in_frame();

// The C library's code that a handler returns to, as bytes to look for.
std::string_view sigreturn_code();

// The code that executes a CallProgram (call_program.h); it can lie at any address.
std::string_view stub_code();
// Registers that begin it.
Registers stub_call(const Registers& from, uint64_t code, uint64_t data, uint64_t stack);

// Whether the 8 bytes before a return address end in a call.
bool ends_in_call(const unsigned char* eight_bytes);

// One breakpoint of the processor, for this thread alone; 0 removes it.
bool set_breakpoint(pid_t thread, uint64_t address);

// What the kernel tells seccomp filters of the processor (AUDIT_ARCH_*).
uint32_t audit_architecture();

}  // namespace memprof::cli::processor
