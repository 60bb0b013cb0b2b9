// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/linux/calls/remote_call.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>

#include "memprof/attach/linux/thread/stop_moment.h"
#include "memprof/console/console.h"
#include "memprof/console/failure.h"

namespace memprof::cli {
namespace {

using Stop = TracedThread::Stop;
using protocol::Operation;
using protocol::Phase;
using protocol::Seen;

constexpr uint64_t kPage = 4096;
constexpr uint64_t kFrameBytes = 5 * kPage;     // the largest vectors have 11 KiB
constexpr uint64_t kFunctionBytes = 5 * kPage;  // for mmap, and a signal handler before all are blocked
constexpr uint64_t kCallBytes = 48 * kPage;
// Never written by us: once the program's own stack has come down here, this is not zero any more.
constexpr uint64_t kUntouchedBytes = 4 * kPage;
constexpr uint64_t kRoomBytes =
    kUntouchedBytes + kFrameBytes + kFunctionBytes + CallProgram::kBytes + kCallBytes;
static_assert(kRoomBytes <= kStackForCalls);
// Lies at the lowest address of the room, which the next attach uses again.
constexpr uint64_t kMark[2] = {0x6d656d70726f6672, 0x6f6f6d2062656c6f};
// Functions expect the stack pointer as a call instruction leaves it.
constexpr uint64_t kReturnSlot = 8;

// A signal handler that interrupts a system call lies further down, or on a stack of its own.
constexpr uint64_t kFunctionFrameBytes = 512;

constexpr int64_t kStopNs = 3'000'000'000;

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

RemoteCall::RemoteCall(const Target& target, TracedThread* thread, SafePoint point, const CallTimes& times)
    : target_(target), thread_(*thread), point_(std::move(point)), times_(times) {
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

// Of the first thread: the kernel enlarges the stack when something below it is written.  That stack may come down at any time while
// another thread makes the calls; so that one has them on its own, of which it uses no more meanwhile.
void RemoteCall::make_room() {
  int error = 0;
  const std::vector<MemoryRange> ranges = memory_ranges(target_.pid, &error);
  const MemoryRange* stack = first_stack(ranges);
  if (stack == nullptr) fail("it has no stack of its own any more");
  uint64_t top = stack->start;
  if (point_.own_stack.bytes() >= kRoomBytes) {
    top = point_.own_stack.end;
  } else if (is_room_of_before(*stack)) {
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

// By instructions of the C library, which return into the frame.
void RemoteCall::enter(long number, const std::array<uint64_t, 6>& arguments) {
  const processor::Registers registers = processor::system_call(
      point_.registers, target_.system_call_code, number, frame_at_, target_.sigreturn_code, arguments);
  call_ = number;
  behind_call_ = 0;
  if (!processor::write_registers(thread_.id(), registers)) seen_ = Seen::kGone;
}

// Where it was made to go, and in no signal handler above that.
bool RemoteCall::is_behind_call(const processor::Registers& now) const {
  return processor::program_counter(now) == behind_call_ && processor::stack_pointer(now) == stack_in_call_;
}

void RemoteCall::look_behind_call() {
  processor::Registers now;
  if (!processor::read_registers(thread_.id(), &now)) {
    seen_ = Seen::kGone;
  } else if (!is_behind_call(now)) {
    seen_ = Seen::kUnknown;
  } else if (call_ == SYS_munmap) {
    seen_ = processor::result(now) == 0 ? Seen::kBehindCall : Seen::kBehindError;
  } else {
    const int64_t result = processor::result(now);
    const bool is_page = result > 0 && result % static_cast<int64_t>(kPage) == 0;
    seen_ = is_page ? Seen::kBehindCall : Seen::kBehindError;
    if (is_page) code_at_ = static_cast<uint64_t>(result);
    if (!is_page) {
      error_ = "no memory can be mapped there: " + (result < 0 ? error_text(static_cast<int>(-result))
                                                               : "a filter of system calls answers for it");
    }
  }
}

// A handler of a signal that is not blocked may run first, and make calls of its own.
void RemoteCall::run_behind_call() {
  constexpr int kMaxStops = 1000;
  for (int i = 0; i < kMaxStops; ++i) {
    const Stop stop = thread_.to_system_call(kStopNs);
    processor::Registers now;
    if (stop == Stop::kGone || !processor::read_registers(thread_.id(), &now)) {
      seen_ = Seen::kGone;
      return;
    }
    if (stop != Stop::kSystemCall) break;
    if (behind_call_ != 0) {
      look_behind_call();
      return;
    }
    const uint64_t stack_pointer = processor::stack_pointer(now);
    if (processor::is_before_system_call(now, call_) && stack_pointer <= frame_at_ + kReturnSlot &&
        stack_pointer > frame_at_ - kFunctionFrameBytes) {
      behind_call_ = processor::program_counter(now);
      stack_in_call_ = stack_pointer;
    }
  }
  seen_ = Seen::kUnknown;
}

void RemoteCall::write_program() {
  const std::string_view stub = processor::stub_code();
  if (!point_.memory.write(code_at_, stub.data(), stub.size()) ||
      !point_.memory.write(program_at_, image_.data(), image_.size())) {
    fail("its memory cannot be written: " + error_text(errno));
  }
}

void RemoteCall::write_answer() {
  const uint32_t value = answer_ != nullptr ? answer_(point_.memory) : 1;
  is_answered_ = true;
  point_.memory.write(program_at_ + CallProgram::kOffsetOfAnswer, &value, sizeof(value));
}

void RemoteCall::read_word() {
  // A stop ends the wait early: of a signal that the processor raised, which is passed on.
  const Stop stop = thread_.wait(times_.between_looks_ns);
  uint32_t state = 0;
  if (stop == Stop::kGone ||
      !point_.memory.read(program_at_ + CallProgram::kOffsetOfState, &state, sizeof(state))) {
    seen_ = Seen::kGone;
    return;
  }
  if (stop != Stop::kTimeout) thread_.resume();
  const bool is_running = state == CallHeader::kRuns || (state == CallHeader::kWaits && is_answered_);
  seen_ = is_running ? Seen::kRuns : Seen::kWaits;
  if (seen_ == Seen::kRuns && monotonic_ns() > end_ns_) seen_ = Seen::kUnknown;
}

// That all of it was stopped by a signal meanwhile is as good.  A thread that has left may be in a transfer.
void RemoteCall::stop() {
  constexpr int64_t kMomentNs = 300'000'000;
  uint32_t state = 0;
  if (point_.memory.read(program_at_ + CallProgram::kOffsetOfState, &state, sizeof(state)) &&
      state == CallHeader::kLeaves) {
    wait_for_moment(thread_.id(), kMomentNs, [this](int64_t ns) {
      const Stop stop = thread_.wait(ns);
      if (stop != Stop::kTimeout && stop != Stop::kGone) thread_.resume();
    });
  }
  const Stop stop = thread_.interrupt(kStopNs);
  if (stop == Stop::kGone) seen_ = Seen::kGone;
  if (stop != Stop::kEvent && stop != Stop::kGroup) seen_ = stop == Stop::kGone ? seen_ : Seen::kUnknown;
}

void RemoteCall::stop_as_event() {
  const Stop stop = thread_.to_event(kStopNs);
  if (stop != Stop::kEvent && stop != Stop::kGroup)
    seen_ = stop == Stop::kGone ? Seen::kGone : Seen::kUnknown;
}

void RemoteCall::prove() {
  if (!thread_.is_stopped()) return;
  processor::Registers now;
  uint32_t state = 0;
  if (!processor::read_registers(thread_.id(), &now)) {
    seen_ = Seen::kGone;
    return;
  }
  if (behind_call_ != 0) {
    seen_ = is_behind_call(now) ? Seen::kBehindCall : Seen::kUnknown;
    return;
  }
  if (!point_.memory.read(program_at_ + CallProgram::kOffsetOfState, &state, sizeof(state))) {
    seen_ = Seen::kGone;
    return;
  }
  const bool is_in_stub = processor::program_counter(now) - code_at_ < processor::stub_code().size();
  const Seen interrupted = monotonic_ns() > end_ns_ ? Seen::kUnknown : Seen::kInterrupted;
  switch (state) {
    case CallHeader::kRuns:
      seen_ = Seen::kInCalls;
      break;
    case CallHeader::kWaits:
      seen_ = is_answered_ ? Seen::kInCalls : is_in_stub ? Seen::kAsks : interrupted;
      break;
    case CallHeader::kDone:
      seen_ = is_in_stub ? Seen::kIsDone : interrupted;
      break;
    case CallHeader::kLeaves:
      seen_ = Seen::kHasLeft;
      break;
    default:
      seen_ = Seen::kUnknown;
  }
}

// Of a thread that has left, its stack may come down here at any time: they count where it has not.  On a stack of its own that
// cannot be told.
void RemoteCall::read_results() {
  std::string untouched(kUntouchedBytes, 'x');
  const uint64_t top = frame_at_ + kReturnSlot + kFrameBytes;
  const bool is_ours = seen_ == Seen::kIsDone;
  const bool is_first_stack = point_.own_stack.bytes() == 0;
  if (!point_.memory.read(program_at_, image_.data(), image_.size()) ||
      (!is_ours && (!is_first_stack || !point_.memory.read(top, untouched.data(), untouched.size()) ||
                    untouched.find_first_not_of('\0') != std::string::npos))) {
    error_ = "it went on before its results could be read; try again";
    return;
  }
  results_(image_, point_.memory);
}

// From behind an event the kernel repeats the system call that was interrupted.
void RemoteCall::let_go() {
  thread_.detach();
  pause_ns_ = std::max(monotonic_ns() - point_.stopped_ns, point_.longest_pause_ns);
}

void RemoteCall::perform(Operation operation) {
  bool is_there = true;
  switch (operation) {
    case Operation::kNothing:
      return;
    case Operation::kEnterMap:
      return enter(SYS_mmap, {0, kPage, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, ~uint64_t{0}, 0});
    case Operation::kEnterUnmap:
      return enter(SYS_munmap, {code_at_, kPage, 0, 0, 0, 0});
    case Operation::kEnterStub:
      behind_call_ = 0;
      is_there = processor::write_registers(
          thread_.id(), processor::stub_call(point_.registers, code_at_, program_at_, program_at_));
      break;
    case Operation::kBlockSignals:
      is_there = thread_.set_signal_mask(blocked_signals());
      break;
    case Operation::kWriteProgram:
      return write_program();
    case Operation::kWriteAnswer:
      return write_answer();
    case Operation::kPutVectors:
      is_there = processor::write_vectors(thread_.id(), vectors_);
      break;
    case Operation::kPutMask:
      is_there = thread_.set_signal_mask(signal_mask_);
      break;
    case Operation::kPutRegisters:
      is_there = processor::write_registers(thread_.id(), point_.registers);
      if (is_there && point_.repeats_call) thread_.give_back_repeated_call();
      break;
    case Operation::kReadResults:
      return read_results();
    case Operation::kRunBehindCall:
      return run_behind_call();
    case Operation::kStopAsEvent:
      return stop_as_event();
    case Operation::kLetRun:
      is_there = thread_.resume();
      break;
    case Operation::kReadWord:
      return read_word();
    case Operation::kStop:
      return stop();
    case Operation::kProve:
      return prove();
    case Operation::kLetGo:
      return let_go();
  }
  if (!is_there) seen_ = Seen::kGone;
}

// What a thread that was left alone means to who asked.
void RemoteCall::report(Phase phase, Seen seen, bool has_results) const {
  if (!error_.empty()) fail(error_);
  if (has_results) return;
  if (seen == Seen::kGone) fail_as(Stop::kGone);
  if (phase == Phase::kCalls) {
    fail("the calls there take too long (more than 10 s): it goes on, and memprof starts when they end");
  }
  fail_as(Stop::kTimeout);
}

void RemoteCall::run(const CallProgram& program, const Answer& answer, const Results& results,
                     const Observer& observer) {
  image_ = program.image();
  answer_ = answer;
  results_ = results;
  end_ns_ = monotonic_ns() + times_.calls_ns;
  if (observer != nullptr) observer("stopped");
  save();
  Phase phase = Phase::kStopped;
  bool has_results = false;
  while (true) {
    const protocol::Rule rule = protocol::rule_for(phase, seen_);
    phase = rule.next;
    const Seen known = seen_;
    for (const Operation operation : protocol::operations_of(rule.action).list) {
      if (operation == Operation::kNothing) break;
      // What was proven before an operation failed is proven no more.
      if (seen_ == Seen::kGone && operation != Operation::kLetGo) continue;
      if (observer != nullptr && rule.action != protocol::Action::kWait)
        observer(protocol::name_of(operation));
      perform(operation);
      has_results = has_results || operation == Operation::kReadResults;
    }
    if (phase == Phase::kOver) {
      if (observer != nullptr) observer("over");
      report(rule.phase, known, has_results);
      return;
    }
  }
}

}  // namespace memprof::cli
