// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/linux/thread/safe_point.h"

#include <elf.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <map>
#include <vector>

#include "memprof/attach/linux/target/musl_frames.h"
#include "memprof/attach/linux/thread/own_stack.h"
#include "memprof/attach/linux/thread/stop_moment.h"
#include "memprof/attach/linux/thread/thread_facts.h"
#include "memprof/console/failure.h"

namespace memprof::cli {
namespace {

using Stop = TracedThread::Stop;

constexpr int64_t kStopNs = 3'000'000'000;
// For the first thread where there are others, and for each of those.
constexpr int kRounds = 4;
constexpr Patience kFirst{40, 500'000'000, 50'000'000};
constexpr Patience kOther{10, 100'000'000, 30'000'000};
constexpr size_t kMaxOthers = 16;
constexpr size_t kStackBytes = size_t{256} << 10;

[[noreturn]] void fail(const Target& target, const std::string& why) {
  throw Failure("attach: " + target.shown + " " + why, kRefused);
}

// The stack from the red zone on, as far as it can be read.
std::vector<char> read_stack(const TargetMemory& memory, uint64_t begin) {
  std::vector<char> stack(kStackBytes);
  stack.resize(memory.read_some(begin, stack.data(), stack.size()));
  return stack;
}

uint64_t word_at(const std::vector<char>& stack, size_t at) {
  uint64_t value = 0;
  memcpy(&value, stack.data() + at, sizeof(value));
  return value;
}

// A return address behind a call.
bool is_return_address(const Target& target, const TargetMemory& memory, uint64_t address) {
  const MemoryRange* range = range_at(target.ranges, address);
  unsigned char before[8];
  return range != nullptr && range->is_code &&
         memory.read(address - sizeof(before), before, sizeof(before)) && processor::ends_in_call(before);
}

// Where the walk ended early, what looks like a return address into unsafe code is one.
const std::string* scan(const Target& target, const TargetMemory& memory, const std::vector<char>& stack,
                        size_t from) {
  for (size_t at = from; at + sizeof(uint64_t) <= stack.size(); at += sizeof(uint64_t)) {
    const uint64_t address = processor::return_address(word_at(stack, at));
    const std::string* what = target.unsafe.at(address - 1);
    if (what != nullptr && is_return_address(target, memory, address)) return what;
  }
  return nullptr;
}

void sleep_ns(int64_t ns) {
  const timespec time{0, static_cast<long>(ns)};
  nanosleep(&time, nullptr);
}

// Those that the C library made.
std::vector<pid_t> threads_for_calls(uint64_t process) {
  std::vector<pid_t> found = threads_of(process);
  const auto is_other = [process](pid_t thread) {
    return thread == static_cast<pid_t>(process) || !is_of_c_library(thread);
  };
  found.erase(std::remove_if(found.begin(), found.end(), is_other), found.end());
  return found;
}

// Until the thread has run for a while: without time on a processor it has not moved on, and another stop would only end or
// stretch what it waits in.  Of different lengths: a loop is met elsewhere.  false: it sleeps on.
bool let_it_run(const Target& target, pid_t thread, int round, int64_t patience_ns, const Pause& pause) {
  constexpr uint64_t kEnoughNs = 50'000;
  constexpr int64_t kBlindNs = 25'000'000;  // where this kernel does not say
  const int64_t begin = monotonic_ns();
  pause(100'000);  // what going on from the stop takes
  const uint64_t before = used_ns(target.pid, thread);
  const int64_t end = begin + (before == 0 ? kBlindNs : patience_ns);
  while (monotonic_ns() < end) {
    pause(100'000 + (round * 37 % 400) * 1000L);
    if (used_ns(target.pid, thread) > before + kEnoughNs) return true;
  }
  return before == 0;
}

std::string listed(const std::map<std::string, int>& refused) {
  std::string text;
  for (const auto& [what, count] : refused) {
    text += (text.empty() ? "" : ", ") + what + " (" + std::to_string(count) + " times)";
  }
  return text;
}

class Search {
 public:
  // In a moment outside of transfers: such a one has to be met before a thread is traced, because letting it go takes a stop, too.
  Search(const Target& target, RemoteStack& walker, TracedThread* thread, const Patience& patience)
      : target_(target),
        walker_(walker),
        thread_(*thread),
        patience_(patience),
        moment_ns_(patience.moment_ns) {}

  // false: it was not met in a safe point; it is let go.
  bool run() {
    const int64_t end = monotonic_ns() + patience_.ns;
    for (int round = 1; monotonic_ns() < end; ++round) {
      if (round > 1 || is_in_transfer(thread_.id())) wait_for_moment();
      check(thread_.interrupt(kStopNs));
      SafeVerdict verdict = look();
      if (verdict.is_safe) return true;
      ++refused_[verdict.why];
      if (round == patience_.stops) return false;
      go_on();
      if (!let_it_run(target_, thread_.id(), round, end - monotonic_ns(), pause_)) return false;
    }
    return false;
  }

  SafePoint take() {
    point_.repeats_call = thread_.take_repeated_call();
    return std::move(point_);
  }

  const SafePoint& so_far() const { return point_; }

  [[noreturn]] void fail_always_unsafe() const {
    fail(target_, "was never outside of code in which a library must not be loaded: it was in " +
                      listed(refused_) + "; try again");
  }

 private:
  void wait_for_moment() {
    const int64_t begin = monotonic_ns();
    cli::wait_for_moment(thread_.id(), std::max<int64_t>(moment_ns_, 0), pause_);
    moment_ns_ -= monotonic_ns() - begin;
  }

  // What it stops for meanwhile, such as signals, is passed on.
  void pause(int64_t ns) {
    const Stop stop = thread_.wait(ns);
    if (stop == Stop::kGone || stop == Stop::kGroup) check(stop);
    if (stop != Stop::kTimeout) thread_.resume();
  }

  void check(Stop stop) {
    if (stop == Stop::kEvent) {
      point_.stopped_ns = monotonic_ns();
      ++point_.stops;
      return;
    }
    if (stop == Stop::kGone) fail(target_, "has ended meanwhile, or executes another program");
    if (stop == Stop::kGroup) fail(target_, "was stopped by a signal meanwhile; let it go on first");
    fail(target_,
         "cannot be stopped now: it waits for a child that it made by vfork, or for a device; try again");
  }

  SafeVerdict look() {
    if (!processor::read_registers(thread_.id(), &point_.registers)) check(Stop::kGone);
    // Of the same program, still: what is written goes to this memory and no other.
    point_.memory = TargetMemory(target_.pid, TargetMemory::Access::kReadAndWrite);
    if (point_.memory.error() != 0)
      throw Failure(ptrace_refusal(target_.pid, target_.shown, point_.memory.error()), kRefused);
    if (program_identity(target_.pid) != target_.identity) {
      fail(target_, "has executed another program meanwhile; try again");
    }
    if (thread_.id() != static_cast<pid_t>(target_.pid)) {
      int error = 0;
      point_.own_stack =
          own_stack(memory_ranges(target_.pid, &error), processor::stack_pointer(point_.registers),
                    processor::thread_pointer(thread_.id(), point_.registers));
      if (point_.own_stack.bytes() < kStackForCalls) return {false, "a thread without room on its stack"};
    }
    return judge(target_, point_.memory, walker_, thread_, point_.registers);
  }

  void go_on() {
    point_.longest_pause_ns = std::max(point_.longest_pause_ns, monotonic_ns() - point_.stopped_ns);
    thread_.resume();
  }

  const Target& target_;
  RemoteStack& walker_;
  TracedThread& thread_;
  SafePoint point_;
  Patience patience_;
  int64_t moment_ns_;
  const Pause pause_ = [this](int64_t ns) { pause(ns); };
  std::map<std::string, int> refused_;
};

}  // namespace

namespace {

constexpr char kUnknownCallers[] = "code whose callers cannot be found";

// Where the walk ended in code that cannot be followed, all of the first thread's stack behind that frame: each return address
// into musl has to be harmless, of a function that is under way or was.
std::string scan_for_musl(const Target& target, const TargetImage& musl, const TargetMemory& memory,
                          const RemoteStack& walker, uint64_t from) {
  const MemoryRange* range = range_at(target.ranges, from);
  if (range == nullptr || range->path != "[stack]" || range->end - from > kStackBytes) return kUnknownCallers;
  std::vector<char> stack(range->end - from);
  if (!memory.read(from, stack.data(), stack.size())) return kUnknownCallers;
  for (size_t at = 0; at + sizeof(uint64_t) <= stack.size(); at += sizeof(uint64_t)) {
    const uint64_t address = word_at(stack, at);
    if (address == target.sigreturn_code) return "a signal handler";
    if (!is_in_musl(musl, address) || !is_return_address(target, memory, address)) continue;
    std::string what = unsafe_in_musl(musl, address, walker.begins_stacks(address));
    if (!what.empty()) return what;
  }
  return {};
}

std::string unsafe_in_musl(const Target& target, const TargetImage& musl, const TargetMemory& memory,
                           const RemoteStack& walker, const RemoteStack::Walk& walk) {
  std::vector<uint64_t> addresses;
  for (const RemoteStack::Frame& frame : walk.frames) addresses.push_back(frame.address);
  std::string what = unsafe_in_musl(musl, addresses);
  if (!what.empty() || walk.is_complete) return what;
  if (addresses.empty() || is_in_musl(musl, addresses.back())) return kUnknownCallers;
  // A library that was loaded since the survey could be an allocator.
  const MemoryRange* code = range_at(target.ranges, addresses.back());
  if (code == nullptr || !code->is_code) return kUnknownCallers;
  return scan_for_musl(target, musl, memory, walker, walk.frames.back().stack_pointer);
}

}  // namespace

RemoteStack::Places places_in(const Target& target) {
  return {target.sigreturn_code, auxiliary_value(target.auxiliary_vector, AT_ENTRY),
          target.musl ? &*target.musl : nullptr};
}

SafeVerdict judge(const Target& target, const TargetMemory& memory, RemoteStack& walker,
                  const TracedThread& thread, const processor::Registers& registers) {
  if (const char* state = processor::state_without_calls(thread.id(), registers)) return {false, state};
  if (thread.is_in_restartable_sequence()) return {false, "a restartable sequence"};
  const uint64_t begin = processor::stack_pointer(registers) - kRedZoneBytes;
  const std::vector<char> stack = read_stack(memory, begin);
  const RemoteStack::Walk walk = walker.walk(thread.id(), registers, memory, stack, begin);
  SafeVerdict verdict{true, ""};
  const auto is_unsafe = [&](uint64_t address) {
    const std::string* what = target.unsafe.at(address);
    if (what != nullptr && verdict.is_safe) verdict = {false, *what};
    return what != nullptr;
  };
  is_unsafe(processor::program_counter(registers));
  for (const RemoteStack::Frame& frame : walk.frames) {
    is_unsafe(frame.address);
  }
  if (target.musl && verdict.is_safe) {
    const std::string what_of_musl = unsafe_in_musl(target, *target.musl, memory, walker, walk);
    verdict = {what_of_musl.empty(), what_of_musl};
  }
  if (!walk.is_complete) {
    const uint64_t last = walk.frames.empty() ? 0 : walk.frames.back().stack_pointer;
    const size_t from = last > begin && last - begin < stack.size() ? last - begin : kRedZoneBytes;
    const std::string* what = scan(target, memory, stack, from);
    const uint64_t link = processor::link_register(registers);
    if (walk.frames.size() <= 1 && link != 0) is_unsafe(link - 1);
    if (what != nullptr && verdict.is_safe) verdict = {false, *what};
  }
  return verdict;
}

SafePoint reach_safe_point(const Target& target, RemoteStack& walker, TracedThread* thread) {
  Search search(target, walker, thread, Patience{});
  if (!search.run()) search.fail_always_unsafe();
  return search.take();
}

SafePoint reach_any_safe_point(const Target& target, RemoteStack& walker,
                               std::unique_ptr<TracedThread>* thread) {
  const auto first = static_cast<pid_t>(target.pid);
  const auto seize = [&](pid_t id) {
    thread->reset();
    *thread = std::make_unique<TracedThread>(id);
    return (*thread)->error() == 0;
  };
  SafePoint before;  // what was tried in vain
  const auto try_one = [&](pid_t id, const Patience& patience, SafePoint* point) {
    if (!wait_for_moment(id, patience.moment_ns, sleep_ns) || !seize(id)) return false;
    Search search(target, walker, thread->get(), patience);
    bool is_found = false;
    try {
      is_found = search.run();
    } catch (const Failure&) {
      if (id == first) throw;  // other threads may end at any time
    }
    before.stops += search.so_far().stops;
    before.longest_pause_ns = std::max(before.longest_pause_ns, search.so_far().longest_pause_ns);
    if (!is_found) return false;
    *point = search.take();
    point->stops = before.stops;
    point->longest_pause_ns = before.longest_pause_ns;
    return true;
  };
  SafePoint point;
  const bool has_others = threads_of(target.pid).size() > 1;
  for (int round = 0; has_others && round < kRounds; ++round) {
    if (try_one(first, kFirst, &point)) return point;
    std::vector<pid_t> others = threads_for_calls(target.pid);
    if (others.size() > kMaxOthers) others.resize(kMaxOthers);
    for (const pid_t other : others) {
      if (try_one(other, kOther, &point)) return point;
    }
  }
  wait_for_moment(first, Patience{}.moment_ns, sleep_ns);
  if (!seize(first)) throw Failure(ptrace_refusal(target.pid, target.shown, (*thread)->error()), kRefused);
  point = reach_safe_point(target, walker, thread->get());
  point.stops += before.stops;
  point.longest_pause_ns = std::max(point.longest_pause_ns, before.longest_pause_ns);
  return point;
}

}  // namespace memprof::cli
