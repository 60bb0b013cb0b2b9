// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/calls/remote_call.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>

#include "memprof/console/console.h"
#include "memprof/console/failure.h"

namespace memprof::cli {
namespace {

using Stop = TracedThread::Stop;

constexpr uint64_t kPage = 4096;
constexpr uint64_t kFrameBytes = 5 * kPage;     // the largest vectors have 11 KiB
constexpr uint64_t kFunctionBytes = 5 * kPage;  // for mmap, and a signal handler before all are blocked
constexpr uint64_t kCallBytes = 48 * kPage;
// Never written by us: once the program's own stack has come down here, this is not zero any more.
constexpr uint64_t kUntouchedBytes = 4 * kPage;
constexpr uint64_t kRoomBytes =
    kUntouchedBytes + kFrameBytes + kFunctionBytes + CallProgram::kBytes + kCallBytes;
constexpr uint64_t kRedZoneBytes = 128;
// Lies at the lowest address of the room, which the next attach uses again.
constexpr uint64_t kMark[2] = {0x6d656d70726f6672, 0x6f6f6d2062656c6f};
// Functions expect the stack pointer as a call instruction leaves it.
constexpr uint64_t kReturnSlot = 8;

constexpr int64_t kStopNs = 3'000'000'000;
constexpr int64_t kCallNs = 10'000'000'000;

uint64_t bit(int signal) {
  return uint64_t{1} << (signal - 1);
}

// All but those that the processor raises, or a system call that a filter refuses.
uint64_t blocked_signals() {
  return ~(bit(SIGTRAP) | bit(SIGSEGV) | bit(SIGBUS) | bit(SIGFPE) | bit(SIGILL) | bit(SIGSYS));
}

const MemoryRange* first_stack(const std::vector<MemoryRange>& ranges) {
  for (const MemoryRange& range : ranges) {
    if (range.path == "[stack]") return &range;
  }
  return nullptr;
}

}  // namespace

int64_t result_of(const std::string& image, size_t step) {
  int64_t value = 0;
  memcpy(&value, image.data() + CallProgram::offset_of_result(step), sizeof(value));
  return value;
}

RemoteCall::RemoteCall(const Target& target, TracedThread* thread, SafePoint point)
    : target_(target), thread_(*thread), point_(std::move(point)) {
  make_room();
}

uint64_t RemoteCall::context_address() const {
  return frame_at_ + processor::context_in_frame();
}

uint64_t RemoteCall::alternate_stack_address() const {
  return frame_at_ + processor::alternate_stack_in_frame();
}

void RemoteCall::fail(const std::string& why) const {
  throw Failure("attach: " + target_.shown + ": " + why, kRefused);
}

void RemoteCall::fail_as(Stop stop) const {
  if (stop == Stop::kGone) fail("it has ended meanwhile, or executes another program");
  fail("it did not stop as it should; it goes on by itself");
}

// The kernel enlarges the stack when something below it is written.
void RemoteCall::make_room() {
  int error = 0;
  const std::vector<MemoryRange> ranges = memory_ranges(target_.pid, &error);
  const MemoryRange* stack = first_stack(ranges);
  if (stack == nullptr) fail("it has no stack of its own any more");
  uint64_t top = stack->start;
  if (is_room_of_before(*stack)) {
    top += kRoomBytes;
  } else if (!point_.memory.write(top - kRoomBytes, kMark, sizeof(kMark))) {
    fail("there is no room below its stack; try with a higher limit of stacks (ulimit -s) in this shell");
  }
  frame_at_ = top - kUntouchedBytes - kFrameBytes - kReturnSlot;
  program_at_ = top - kUntouchedBytes - kFrameBytes - kFunctionBytes - CallProgram::kBytes;
}

// Whether the lowest part of the stack is what an attach before made, and nothing else has used since.
bool RemoteCall::is_room_of_before(const MemoryRange& stack) const {
  const uint64_t top = stack.start + kRoomBytes;
  const uint64_t stack_pointer = processor::stack_pointer(point_.registers);
  if (top >= stack.end || (stack_pointer >= stack.start && stack_pointer < top + kRedZoneBytes)) return false;
  uint64_t mark[2] = {};
  std::string untouched(kUntouchedBytes, 'x');
  return point_.memory.read(stack.start, mark, sizeof(mark)) && memcmp(mark, kMark, sizeof(mark)) == 0 &&
         point_.memory.read(top - kUntouchedBytes, untouched.data(), untouched.size()) &&
         untouched.find_first_not_of('\0') == std::string::npos;
}

void RemoteCall::save() {
  if (!processor::read_vectors(thread_.id(), &vectors_) || !thread_.signal_mask(&signal_mask_)) {
    fail_as(Stop::kGone);
  }
  const std::string frame =
      processor::signal_frame(point_.registers, vectors_, signal_mask_, frame_at_, target_.sigreturn_code);
  if (frame.size() > kFrameBytes) fail("its processor has more state than memprof knows");
  if (!point_.memory.write(frame_at_, frame.data(), frame.size())) fail("its stack cannot be written");
}

// By the C library's function, which returns into the frame.  The thread is stopped behind the system call then.
int64_t RemoteCall::call_system(const char* function, long number, const std::array<uint64_t, 6>& arguments) {
  const processor::Registers registers = processor::function_call(
      point_.registers, target_.call(function), frame_at_, target_.sigreturn_code, arguments);
  if (!processor::write_registers(thread_.id(), registers)) fail_as(Stop::kGone);
  if (!thread_.set_signal_mask(blocked_signals())) fail_as(Stop::kGone);
  // A handler of a signal that is not blocked may run first, and make calls of its own.
  constexpr int kMaxStops = 1000;
  bool is_inside = false;
  for (int i = 0; i < kMaxStops; ++i) {
    const Stop stop = thread_.to_system_call(kStopNs);
    processor::Registers now;
    if (stop != Stop::kSystemCall) fail_as(stop);
    if (!processor::read_registers(thread_.id(), &now)) fail_as(Stop::kGone);
    if (is_inside) return processor::result(now);
    is_inside = processor::is_before_system_call(now, number);
  }
  fail("its signal handlers do not let it make a system call");
}

void RemoteCall::wait_until_done(const Answer& answer) {
  const int64_t end = monotonic_ns() + kCallNs;
  bool is_answered = answer == nullptr;
  while (true) {
    uint32_t state = 0;
    if (!point_.memory.read(program_at_ + CallProgram::kOffsetOfState, &state, sizeof(state))) {
      fail_as(Stop::kGone);
    }
    if (state == CallHeader::kDone) return;
    if (!is_answered && state == CallHeader::kWaits) {
      const uint32_t value = answer(point_.memory);
      point_.memory.write(program_at_ + CallProgram::kOffsetOfAnswer, &value, sizeof(value));
      is_answered = true;
    }
    // A stop ends the wait early: of a signal that the processor raised, which is passed on.
    constexpr int64_t kLookAgainNs = 20'000;
    const Stop stop = thread_.wait(kLookAgainNs);
    if (stop == Stop::kGone) fail_as(stop);
    if (stop != Stop::kTimeout) thread_.resume();
    if (monotonic_ns() > end) {
      fail("the calls there take too long (more than 10 s): it goes on, and memprof starts when they end");
    }
  }
}

// The mask and the vectors first: until the registers are back, the thread would restore all by its frame.
void RemoteCall::restore() {
  if (!processor::write_vectors(thread_.id(), vectors_) || !thread_.set_signal_mask(signal_mask_) ||
      !processor::write_registers(thread_.id(), point_.registers)) {
    fail_as(Stop::kGone);
  }
  if (point_.repeats_call) thread_.give_back_repeated_call();
  thread_.detach();
  pause_ns_ = std::max(monotonic_ns() - point_.stopped_ns, point_.longest_pause_ns);
}

void RemoteCall::run(const CallProgram& program, const Answer& answer, const Results& results,
                     const Observer& observer) {
  const auto at = [&](const char* step) {
    if (observer != nullptr) observer(step);
  };
  at("stopped");
  save();
  at("frame written");
  const int64_t code = call_system(
      "mmap", SYS_mmap, {0, kPage, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, ~uint64_t{0}, 0});
  at("page mapped");
  std::string image = program.image();
  std::string error;
  if (code < 0 && code > -static_cast<int64_t>(kPage)) {
    error = "no memory can be mapped there: " + error_text(static_cast<int>(-code));
  } else {
    code_at_ = static_cast<uint64_t>(code);
    const std::string_view stub = processor::stub_code();
    if (!point_.memory.write(code_at_, stub.data(), stub.size()) ||
        !point_.memory.write(program_at_, image.data(), image.size())) {
      error = "its memory cannot be written: " + error_text(errno);
    }
  }
  if (error.empty()) {
    at("program written");
    processor::write_registers(thread_.id(),
                               processor::stub_call(point_.registers, code_at_, program_at_, program_at_));
    at("program begins");
    thread_.resume();
    at("program runs");
    wait_until_done(answer);
    at("program done");
    const Stop stop = thread_.interrupt(kStopNs);
    if (stop != Stop::kEvent) fail_as(stop);
    if (!point_.memory.read(program_at_, image.data(), image.size())) fail_as(Stop::kGone);
    results(image, point_.memory);
  }
  if (code_at_ != 0) {
    call_system("munmap", SYS_munmap, {code_at_, kPage, 0, 0, 0, 0});
    at("page unmapped");
  }
  // Only behind an event the kernel repeats the system call that was interrupted.
  const Stop stop = thread_.to_event(kStopNs);
  if (stop != Stop::kEvent) fail_as(stop);
  at("before the end");
  restore();
  at("gone on");
  if (!error.empty()) fail(error);
}

}  // namespace memprof::cli
