// SPDX-License-Identifier: Apache-2.0
// aarch64 (processor.h).
//
// Before a debugger sees a stopped thread, the kernel has set it back to the instruction of a call that is to be
// repeated (do_signal of its arm64 part), as if the call had not begun.  Of the registers only
// x0 to x30, sp, pc and pstate are shown: the first argument of a call that ended with EINTR is not among them.
#include "memprof/attach/linux/processor/processor.h"

#include <asm/ptrace.h>
#include <elf.h>
#include <linux/audit.h>
#include <linux/futex.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <ucontext.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

namespace memprof::cli::processor {
namespace {

static_assert(sizeof(user_pt_regs) <= sizeof(Registers::words));
constexpr size_t kLink = 30;
constexpr uint64_t kInstructionBytes = 4;
constexpr uint64_t kState32 = 0x10;                  // pstate: 32 bits
constexpr uint64_t kBranchType = uint64_t{3} << 10;  // pstate: of the branch to here

user_pt_regs unpack(const Registers& registers) {
  user_pt_regs all;
  memcpy(&all, registers.words.data(), sizeof(all));
  return all;
}

Registers pack(const user_pt_regs& all) {
  Registers registers;
  memcpy(registers.words.data(), &all, sizeof(all));
  return registers;
}

bool get(pid_t thread, uint64_t set, void* to, size_t* bytes) {
  iovec part{to, *bytes};
  const long result = ptrace(static_cast<__ptrace_request>(PTRACE_GETREGSET), thread, set, &part);
  *bytes = part.iov_len;
  return result == 0;
}

bool put(pid_t thread, uint64_t set, const void* from, size_t bytes) {
  iovec part{const_cast<void*>(from), bytes};
  return ptrace(static_cast<__ptrace_request>(PTRACE_SETREGSET), thread, set, &part) == 0;
}

// ---- vectors: those of 128 bits, and behind them the scalable ones as the kernel has them, where there are some ----

constexpr size_t kSimdBytes = sizeof(user_fpsimd_state);
constexpr size_t kMaxScalableBytes = size_t{16} * 1024;  // the largest have 9 KiB

user_sve_header scalable_header(const std::string& vectors) {
  user_sve_header header{};
  if (vectors.size() >= kSimdBytes + sizeof(header)) {
    memcpy(&header, vectors.data() + kSimdBytes, sizeof(header));
  }
  return header;
}

bool has_scalable(const std::string& vectors) {
  return (scalable_header(vectors).flags & SVE_PT_REGS_MASK) == SVE_PT_REGS_SVE;
}

// ---- the frame of a signal ----

constexpr size_t kContextAt = 8;  // behind the word that lets it be 16 bytes aligned
constexpr size_t kInfoBytes = 128;
constexpr size_t kUserContextAt = kContextAt + kInfoBytes;

// A record of the frame: its kind, its size, and what it has.
void add_record(std::string* records, uint32_t magic, std::string content) {
  _aarch64_ctx head{};
  head.magic = magic;
  content.resize((content.size() + sizeof(head) + 15) / 16 * 16 - sizeof(head), '\0');
  head.size = static_cast<uint32_t>(content.size() + sizeof(head));
  records->append(reinterpret_cast<const char*>(&head), sizeof(head));
  records->append(content);
}

std::string records_of(const std::string& vectors) {
  std::string records;
  if (vectors.size() < kSimdBytes) return records;
  user_fpsimd_state simd;
  memcpy(&simd, vectors.data(), sizeof(simd));
  std::string content(sizeof(fpsimd_context) - sizeof(_aarch64_ctx), '\0');
  memcpy(content.data(), &simd.fpsr, sizeof(simd.fpsr));
  memcpy(content.data() + 4, &simd.fpcr, sizeof(simd.fpcr));
  memcpy(content.data() + offsetof(fpsimd_context, vregs) - sizeof(_aarch64_ctx), &simd.vregs,
         sizeof(simd.vregs));
  add_record(&records, FPSIMD_MAGIC, content);
  if (has_scalable(vectors)) {
    const size_t units = scalable_header(vectors).vl / size_t{16};
    sve_context scalable{};
    scalable.vl = scalable_header(vectors).vl;
    content.assign(reinterpret_cast<const char*>(&scalable) + sizeof(_aarch64_ctx),
                   sizeof(scalable) - sizeof(_aarch64_ctx));
    content +=
        vectors.substr(kSimdBytes + SVE_PT_SVE_OFFSET, SVE_PT_SVE_FPSR_OFFSET(units) - SVE_PT_SVE_OFFSET);
    add_record(&records, SVE_MAGIC, content);
  }
  return records;
}

// ---- system calls ----

bool is_one_of(long number, std::initializer_list<long> numbers) {
  return std::find(numbers.begin(), numbers.end(), number) != numbers.end();
}

bool ends_by_stop(long number) {
  return is_one_of(number,
                   {SYS_epoll_pwait,  SYS_epoll_pwait2,  SYS_semop,   SYS_semtimedop, SYS_rt_sigtimedwait,
                    SYS_io_getevents, SYS_recvfrom,      SYS_recvmsg, SYS_recvmmsg,   SYS_accept,
                    SYS_accept4,      SYS_read,          SYS_readv,   SYS_sendto,     SYS_sendmsg,
                    SYS_sendmmsg,     SYS_write,         SYS_writev,  SYS_connect,    SYS_msgrcv,
                    SYS_msgsnd,       SYS_io_uring_enter});
}

// Calls that wait on for what is left of a time when they are interrupted, by restart_syscall(2).
bool waits_for_the_rest(const WaitingCall& call) {
  switch (call.number) {
    case SYS_nanosleep:
      return true;
    case SYS_clock_nanosleep:
      return (call.arguments[1] & TIMER_ABSTIME) == 0;
    case SYS_futex:
      return (call.arguments[1] & FUTEX_CMD_MASK) == FUTEX_WAIT && call.arguments[3] != 0;
    default:
      return false;
  }
}

// Calls that a signal handler ends however it was installed.
bool ends_by_any_handler(const WaitingCall& call) {
  return waits_for_the_rest(call) ||
         is_one_of(call.number, {SYS_clock_nanosleep, SYS_ppoll, SYS_pselect6, SYS_rt_sigsuspend});
}

}  // namespace

bool is_supported() {
  return true;
}

bool read_registers(pid_t thread, Registers* registers) {
  user_pt_regs all;
  size_t bytes = sizeof(all);
  if (!get(thread, NT_PRSTATUS, &all, &bytes)) return false;
  *registers = pack(all);
  return true;
}

bool write_registers(pid_t thread, const Registers& registers) {
  const user_pt_regs all = unpack(registers);
  return put(thread, NT_PRSTATUS, &all, sizeof(all));
}

bool read_vectors(pid_t thread, std::string* state) {
  state->assign(kSimdBytes + kMaxScalableBytes, '\0');
  size_t bytes = kSimdBytes;
  if (!get(thread, NT_PRFPREG, state->data(), &bytes)) return false;
  bytes = kMaxScalableBytes;
  const bool has_more = get(thread, NT_ARM_SVE, state->data() + kSimdBytes, &bytes);
  state->resize(kSimdBytes + (has_more ? bytes : 0));
  return true;
}

bool write_vectors(pid_t thread, const std::string& state) {
  if (!has_scalable(state)) return put(thread, NT_PRFPREG, state.data(), kSimdBytes);
  return put(thread, NT_ARM_SVE, state.data() + kSimdBytes, state.size() - kSimdBytes);
}

uint64_t program_counter(const Registers& registers) {
  return unpack(registers).pc;
}

uint64_t stack_pointer(const Registers& registers) {
  return unpack(registers).sp;
}

uint64_t thread_pointer(pid_t thread, const Registers&) {
  uint64_t pointer = 0;
  size_t bytes = sizeof(pointer);
  return get(thread, NT_ARM_TLS, &pointer, &bytes) ? pointer : 0;
}

std::vector<uint64_t> dwarf_registers(const Registers& registers) {
  const user_pt_regs all = unpack(registers);
  std::vector<uint64_t> values(std::begin(all.regs), std::end(all.regs));
  values[kLink] = return_address(values[kLink]);
  values.push_back(all.sp);
  return values;
}

uint64_t link_register(const Registers& registers) {
  return return_address(unpack(registers).regs[kLink]);
}

unsigned dwarf_stack_pointer() {
  return 31;
}

uint16_t elf_machine() {
  return EM_AARCH64;
}

const char* state_without_calls(pid_t thread, const Registers& registers) {
  if ((unpack(registers).pstate & kState32) != 0) return "code of 32 bits";
  constexpr uint64_t kStreaming = 0x40b;  // NT_ARM_SSVE
  user_sve_header header{};
  size_t bytes = sizeof(header);
  const bool is_streaming =
      get(thread, kStreaming, &header, &bytes) && (header.flags & SVE_PT_REGS_MASK) == SVE_PT_REGS_SVE;
  return is_streaming ? "the processor's streaming mode" : nullptr;
}

bool needs_waiting_call() {
  return true;
}

Repeat repeat_interrupted_call(Registers* registers, const WaitingCall& was) {
  user_pt_regs all = unpack(*registers);
  if (was.number < 0 || static_cast<long>(all.regs[8]) != was.number || all.sp != was.stack_pointer ||
      !std::equal(was.arguments + 1, std::end(was.arguments), all.regs + 1)) {
    return Repeat::kNone;
  }
  const uint64_t call_at = was.program_counter - kInstructionBytes;
  const bool ended = all.pc == was.program_counter && static_cast<int64_t>(all.regs[0]) == -EINTR;
  if (ended && ends_by_stop(was.number)) {
    all.regs[0] = was.arguments[0];
    all.pc = call_at;
  } else if (all.pc == call_at && waits_for_the_rest(was)) {
    all.regs[8] = SYS_restart_syscall;
  } else {
    return all.pc == call_at && ends_by_any_handler(was) ? Repeat::kAlways : Repeat::kNone;
  }
  *registers = pack(all);
  return Repeat::kAlways;
}

void end_repeated_call(Registers* registers) {
  user_pt_regs all = unpack(*registers);
  all.regs[0] = static_cast<uint64_t>(-EINTR);
  all.pc += kInstructionBytes;
  *registers = pack(all);
}

// The kernel shows by x7 which of the two stops it is.
bool is_before_system_call(const Registers& registers, long number) {
  const user_pt_regs all = unpack(registers);
  return static_cast<long>(all.regs[8]) == number && all.regs[7] == 0;
}

int64_t result(const Registers& registers) {
  return static_cast<int64_t>(unpack(registers).regs[0]);
}

std::string_view system_call_code() {
  static constexpr char kCode[] = "\x01\x00\x00\xd4\xc0\x03\x5f\xd6";  // svc #0; ret
  return {kCode, sizeof(kCode) - 1};
}

Registers system_call(const Registers& from, uint64_t code, long number, uint64_t frame_address,
                      uint64_t sigreturn_code, const std::array<uint64_t, 6>& arguments) {
  user_pt_regs all = unpack(from);
  std::copy(arguments.begin(), arguments.end(), all.regs);
  all.regs[8] = static_cast<uint64_t>(number);
  all.regs[kLink] = sigreturn_code;
  all.sp = frame_address + kContextAt;
  all.pc = code;
  all.pstate &= ~kBranchType;
  return pack(all);
}

std::string signal_frame(const Registers& registers, const std::string& vectors, uint64_t signal_mask,
                         uint64_t, uint64_t) {
  const user_pt_regs all = unpack(registers);
  ucontext_t context;
  memset(&context, 0, sizeof(context));
  memcpy(&context.uc_sigmask, &signal_mask, sizeof(signal_mask));
  memcpy(&context.uc_mcontext.regs, &all.regs, sizeof(all.regs));
  context.uc_mcontext.sp = all.sp;
  context.uc_mcontext.pc = all.pc;
  context.uc_mcontext.pstate = all.pstate;
  constexpr size_t kRecordsAt = offsetof(ucontext_t, uc_mcontext) + offsetof(mcontext_t, __reserved);
  std::string frame(kUserContextAt, '\0');
  frame.append(reinterpret_cast<const char*>(&context), kRecordsAt);
  const std::string records = records_of(vectors);
  constexpr size_t kRoomBytes = sizeof(mcontext_t::__reserved);
  constexpr size_t kEndBytes = 16;
  if (records.size() + kEndBytes > kRoomBytes)
    return std::string(size_t{1} << 20, '\0');  // vectors of more than 64 bytes
  frame.append(records);
  frame.append(kRoomBytes - records.size(), '\0');  // a record of no kind ends them
  return frame;
}

uint64_t alternate_stack_in_frame() {
  return kUserContextAt + offsetof(ucontext_t, uc_stack);
}

uint64_t context_in_frame() {
  return kContextAt;
}

RegistersInFrame registers_in_frame() {
  return {kInfoBytes + offsetof(ucontext_t, uc_mcontext) + offsetof(mcontext_t, regs),
          sizeof(user_pt_regs) / sizeof(uint64_t)};
}

std::string_view sigreturn_code() {
  static constexpr char kCode[] = "\x68\x11\x80\xd2\x01\x00\x00\xd4";  // mov x8, #139; svc #0
  return {kCode, sizeof(kCode) - 1};
}

Registers stub_call(const Registers& from, uint64_t code, uint64_t data, uint64_t stack) {
  return system_call(from, code, 0, stack - kContextAt, 0, {data, 0, 0, 0, 0, 0});
}

// Signed ones have the signature above the address.
uint64_t return_address(uint64_t word) {
  return word & ((uint64_t{1} << 48) - 1);
}

bool ends_in_call(const unsigned char* eight_bytes) {
  uint32_t instruction = 0;
  memcpy(&instruction, eight_bytes + 4, sizeof(instruction));
  const bool is_direct = (instruction & 0xfc000000) == 0x94000000;    // bl
  const bool is_indirect = (instruction & 0xfefff000) == 0xd63f0000;  // blr, blraa and kin
  return is_direct || is_indirect;
}

uint32_t audit_architecture() {
  return AUDIT_ARCH_AARCH64;
}

}  // namespace memprof::cli::processor
