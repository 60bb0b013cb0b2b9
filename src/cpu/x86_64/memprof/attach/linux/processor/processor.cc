// SPDX-License-Identifier: Apache-2.0
// x86-64 (processor.h).
#include "memprof/attach/linux/processor/processor.h"

#include <cpuid.h>
#include <elf.h>
#include <linux/audit.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

namespace memprof::cli::processor {
namespace {

static_assert(sizeof(user_regs_struct) <= sizeof(Registers::words));
constexpr uint64_t kCodeSegment64 = 0x33;
// Results of interrupted system calls that the kernel repeats itself (linux/errno.h, not for programs).
constexpr int64_t kRestartSystemCall = -512;
constexpr int64_t kRestartWithoutHandler = -514;
constexpr int64_t kRestartBlock = -516;
constexpr uint64_t kDirectionTrapAlign = 0x400 | 0x100 | 0x40000;  // flags that functions expect to be clear

user_regs_struct unpack(const Registers& registers) {
  user_regs_struct all;
  memcpy(&all, registers.words.data(), sizeof(all));
  return all;
}

Registers pack(const user_regs_struct& all) {
  Registers registers;
  memcpy(registers.words.data(), &all, sizeof(all));
  return registers;
}

// ---- the frame of a signal ----

constexpr uint64_t kContextAt = 8;  // behind the return address
constexpr uint64_t kVectorsAt = 1024 + kContextAt;
constexpr size_t kContextBytes = offsetof(ucontext_t, uc_sigmask) + 8;  // as the kernel has it
static_assert(kContextAt + kContextBytes < kVectorsAt);

constexpr size_t kLegacyVectorBytes = 512;
constexpr size_t kSoftwareBytesAt = 464;  // in the legacy area: what follows it
constexpr size_t kFeaturesInUseAt = 512;  // the header of the rest
constexpr uint64_t kTiles = (1u << 17) | (1u << 18);
constexpr uint32_t kMagicBegin = 0x46505853, kMagicEnd = 0x46505845;

uint64_t word_at(const std::string& state, size_t at) {
  uint64_t value = 0;
  if (at + sizeof(value) <= state.size()) memcpy(&value, state.data() + at, sizeof(value));
  return value;
}

// Bytes of the areas of these features.
size_t vector_bytes(uint64_t features) {
  size_t bytes = kLegacyVectorBytes + 64;
  for (unsigned feature = 2; feature < 63; ++feature) {
    unsigned size = 0, offset = 0, c = 0, d = 0;
    if ((features >> feature & 1) == 0) continue;
    if (__get_cpuid_count(0xd, feature, &size, &offset, &c, &d) == 0) continue;
    bytes = std::max<size_t>(bytes, size_t{offset} + size);
  }
  return bytes;
}

// The state as rt_sigreturn takes it: what lies behind the legacy area is described in it, and ends in a magic
// number.  Tiles that the thread never used are left out: the kernel refuses a frame with them.
std::string vectors_in_frame(const std::string& state) {
  if (state.size() <= kFeaturesInUseAt + 8) return state;
  uint64_t features = word_at(state, kSoftwareBytesAt);
  if ((word_at(state, kFeaturesInUseAt) & kTiles) == 0) features &= ~kTiles;
  const size_t bytes = std::min(state.size(), vector_bytes(features));
  struct {
    uint32_t magic = kMagicBegin;
    uint32_t extended_bytes = 0;
    uint64_t features = 0;
    uint32_t bytes = 0;
    uint32_t padding[7] = {};
  } software;
  static_assert(sizeof(software) == 48);
  software.extended_bytes = static_cast<uint32_t>(bytes + sizeof(kMagicEnd));
  software.features = features;
  software.bytes = static_cast<uint32_t>(bytes);
  std::string frame = state.substr(0, bytes);
  memcpy(frame.data() + kSoftwareBytesAt, &software, sizeof(software));
  frame.append(reinterpret_cast<const char*>(&kMagicEnd), sizeof(kMagicEnd));
  return frame;
}

}  // namespace

bool is_supported() {
  return true;
}

bool read_registers(pid_t thread, Registers* registers) {
  user_regs_struct all;
  if (ptrace(PTRACE_GETREGS, thread, nullptr, &all) != 0) return false;
  *registers = pack(all);
  return true;
}

bool write_registers(pid_t thread, const Registers& registers) {
  user_regs_struct all = unpack(registers);
  return ptrace(PTRACE_SETREGS, thread, nullptr, &all) == 0;
}

bool read_vectors(pid_t thread, std::string* state) {
  state->assign(size_t{64} * 1024, '\0');
  iovec part{state->data(), state->size()};
  if (ptrace(PTRACE_GETREGSET, thread, NT_X86_XSTATE, &part) != 0) return false;
  state->resize(part.iov_len);
  return true;
}

bool write_vectors(pid_t thread, const std::string& state) {
  iovec part{const_cast<char*>(state.data()), state.size()};
  return ptrace(PTRACE_SETREGSET, thread, NT_X86_XSTATE, &part) == 0;
}

uint64_t program_counter(const Registers& registers) {
  return unpack(registers).rip;
}

uint64_t stack_pointer(const Registers& registers) {
  return unpack(registers).rsp;
}

uint64_t thread_pointer(pid_t, const Registers& registers) {
  return unpack(registers).fs_base;
}

std::vector<uint64_t> dwarf_registers(const Registers& registers) {
  const user_regs_struct r = unpack(registers);
  return {r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi, r.rbp, r.rsp, r.r8,
          r.r9,  r.r10, r.r11, r.r12, r.r13, r.r14, r.r15, r.rip};
}

uint64_t link_register(const Registers&) {
  return 0;
}

unsigned dwarf_stack_pointer() {
  return 7;
}

uint16_t elf_machine() {
  return EM_X86_64;
}

const char* state_without_calls(pid_t, const Registers& registers) {
  return unpack(registers).cs == kCodeSegment64 ? nullptr : "code of 32 bits";
}

bool needs_waiting_call() {
  return false;
}

Repeat repeat_interrupted_call(Registers* registers, const WaitingCall&) {
  static constexpr long kEndedByStops[] = {
      SYS_epoll_wait,      SYS_epoll_pwait,  SYS_epoll_pwait2,   SYS_semop,    SYS_semtimedop,
      SYS_rt_sigtimedwait, SYS_io_getevents, SYS_recvfrom,       SYS_recvmsg,  SYS_recvmmsg,
      SYS_accept,          SYS_accept4,      SYS_read,           SYS_readv,    SYS_sendto,
      SYS_sendmsg,         SYS_sendmmsg,     SYS_write,          SYS_writev,   SYS_connect,
      SYS_msgrcv,          SYS_msgsnd,       SYS_io_uring_enter, SYS_fallocate};
  user_regs_struct all = unpack(*registers);
  // Some random bytes are as good as others.
  const bool is_cut_random = static_cast<long>(all.orig_rax) == SYS_getrandom &&
                             static_cast<int64_t>(all.rax) > 0 && all.rax < all.rsi;
  if (is_cut_random) all.rax = static_cast<uint64_t>(int64_t{-EINTR});
  if (static_cast<int64_t>(all.rax) != -EINTR) return Repeat::kNone;
  const auto number = static_cast<long>(all.orig_rax);
  if (!is_cut_random &&
      std::find(std::begin(kEndedByStops), std::end(kEndedByStops), number) == std::end(kEndedByStops)) {
    return Repeat::kNone;
  }
  all.rax = static_cast<uint64_t>(kRestartWithoutHandler);
  *registers = pack(all);
  return Repeat::kByKernel;
}

void end_repeated_call(Registers*) {}

bool is_before_system_call(const Registers& registers, long number) {
  const user_regs_struct all = unpack(registers);
  return static_cast<long>(all.orig_rax) == number && static_cast<int64_t>(all.rax) == -ENOSYS;
}

int64_t result(const Registers& registers) {
  return static_cast<int64_t>(unpack(registers).rax);
}

namespace {

// `stack`: where the return address is.
user_regs_struct begin_at(const Registers& from, uint64_t code, uint64_t stack) {
  user_regs_struct all = unpack(from);
  all.rip = code;
  all.rsp = stack;
  all.orig_rax = ~uint64_t{0};  // in no system call
  all.eflags &= ~kDirectionTrapAlign;
  return all;
}

}  // namespace

std::string_view system_call_code() {
  static constexpr char kCode[] = "\x0f\x05\xc3";  // syscall; ret
  return {kCode, sizeof(kCode) - 1};
}

Registers system_call(const Registers& from, uint64_t code, long number, uint64_t frame_address, uint64_t,
                      const std::array<uint64_t, 6>& arguments) {
  user_regs_struct all = begin_at(from, code, frame_address);
  all.rdi = arguments[0];
  all.rsi = arguments[1];
  all.rdx = arguments[2];
  all.r10 = arguments[3];
  all.r8 = arguments[4];
  all.r9 = arguments[5];
  all.rax = static_cast<uint64_t>(number);
  return pack(all);
}

std::string signal_frame(const Registers& registers, const std::string& vectors, uint64_t signal_mask,
                         uint64_t address, uint64_t sigreturn_code) {
  const user_regs_struct all = unpack(registers);
  ucontext_t context;
  memset(&context, 0, sizeof(context));
  context.uc_flags = 1 | 2 | 4;  // vectors in the long form, and the stack segment
  greg_t* to = context.uc_mcontext.gregs;
  const auto put = [to](int where, uint64_t value) { to[where] = static_cast<greg_t>(value); };
  put(REG_R8, all.r8);
  put(REG_R9, all.r9);
  put(REG_R10, all.r10);
  put(REG_R11, all.r11);
  put(REG_R12, all.r12);
  put(REG_R13, all.r13);
  put(REG_R14, all.r14);
  put(REG_R15, all.r15);
  put(REG_RDI, all.rdi);
  put(REG_RSI, all.rsi);
  put(REG_RBP, all.rbp);
  put(REG_RBX, all.rbx);
  put(REG_RDX, all.rdx);
  put(REG_RAX, all.rax);
  put(REG_RCX, all.rcx);
  put(REG_RSP, all.rsp);
  put(REG_RIP, all.rip);
  put(REG_EFL, all.eflags);
  put(REG_CSGSFS, kCodeSegment64 | (uint64_t{0x2b} << 48));
  const auto interrupted = static_cast<int64_t>(all.rax);
  if (static_cast<int64_t>(all.orig_rax) >= 0 && interrupted <= kRestartSystemCall &&
      interrupted >= kRestartWithoutHandler) {
    put(REG_RAX, all.orig_rax);
    put(REG_RIP, all.rip - 2);  // the instruction that makes the call
  } else if (static_cast<int64_t>(all.orig_rax) >= 0 && interrupted == kRestartBlock) {
    put(REG_RAX, static_cast<uint64_t>(-EINTR));
  }
  memcpy(&context.uc_sigmask, &signal_mask, sizeof(signal_mask));
  const uint64_t vectors_at = address + kVectorsAt;
  if (!vectors.empty())
    memcpy(static_cast<void*>(&context.uc_mcontext.fpregs), &vectors_at, sizeof(vectors_at));
  std::string frame(kVectorsAt, '\0');
  memcpy(frame.data(), &sigreturn_code, sizeof(sigreturn_code));
  memcpy(frame.data() + kContextAt, &context, kContextBytes);
  return frame + vectors_in_frame(vectors);
}

uint64_t alternate_stack_in_frame() {
  return kContextAt + offsetof(ucontext_t, uc_stack);
}

uint64_t context_in_frame() {
  return kContextAt;
}

RegistersInFrame registers_in_frame() {
  return {};
}

std::string_view sigreturn_code() {
  static constexpr char kCode[] = "\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05";  // mov $15, %rax; syscall
  return {kCode, sizeof(kCode) - 1};
}

Registers stub_call(const Registers& from, uint64_t code, uint64_t data, uint64_t stack) {
  user_regs_struct all = begin_at(from, code, stack);
  all.rdi = data;
  return pack(all);
}

uint64_t return_address(uint64_t word) {
  return word;
}

bool ends_in_call(const unsigned char* eight_bytes) {
  constexpr unsigned char kCall = 0xe8, kIndirect = 0xff;
  const unsigned char* end = eight_bytes + 8;
  if (end[-5] == kCall) return true;
  for (int length = 2; length <= 7; ++length) {
    if (end[-length] == kIndirect && (end[-length + 1] >> 3 & 7) == 2) return true;
  }
  return false;
}

uint32_t audit_architecture() {
  return AUDIT_ARCH_X86_64;
}

}  // namespace memprof::cli::processor
