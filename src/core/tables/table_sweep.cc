// SPDX-License-Identifier: Apache-2.0
#include "core/tables/table_sweep.h"

#include <initializer_list>

#include "format/runtime_frame.h"
#include "platform/stack.h"

namespace memprof {
namespace {

// The share of a table that is taken from stacks, where it has to be.
constexpr uint64_t kTakenShare = 4;
// Code is looked at faster than stacks and modules.
constexpr uint64_t kCodeSlice = 4 * TableSweep::kSlice;
// Candidates that a step moves before it leaves the rest of its slice to the next one.
constexpr uint64_t kMaxMoved = 1024;
constexpr uint64_t kMinIdleSteps = 32;
constexpr uint64_t kMaxIdleSteps = uint64_t{1} << 20;

uint64_t max_codes(const Arena& arena) {
  return arena.section(kCodeSection).capacity_bytes / sizeof(CodeEntry);
}

}  // namespace

void TableSweep::Bits::clear(uint64_t size_bits) {
  for (uint64_t i = 0; i * 64 < size_bits; ++i) {
    words_[i].store(0, std::memory_order_relaxed);
  }
}

void TableSweep::Bits::set(uint64_t i) {
  if (!has(i)) {
    words_[i / 64].fetch_or(uint64_t{1} << i % 64, std::memory_order_release);
  }
}

void TableSweep::attach(const Arena& arena, StackTable* stacks, ModuleTable* modules, CodeTable* codes) {
  arena_ = arena;
  stacks_ = stacks;
  modules_ = modules;
  codes_ = codes;
  go_on_with(Phase::kIdle);
  idle_steps_ = idle_steps_wanted_ = 0;
  takes_modules_ = takes_codes_ = false;
  module_hand_ = code_hand_ = 0;
  shortages_.store(0, std::memory_order_relaxed);
  marking_.store(0, std::memory_order_relaxed);
  is_busy_.store(false, std::memory_order_release);
  stacks->set_sweep(this);
}

bool TableSweep::has_few_modules() const {
  return modules_->in_use() > kMaxModules / 2;
}

bool TableSweep::has_few_codes() const {
  const uint64_t max = max_codes(arena_);
  return codes_->in_use() > max - max / 8 ||
         arena_.header().sweep.shortages.load(std::memory_order_relaxed) !=
             shortages_.load(std::memory_order_relaxed);
}

void TableSweep::step() {
  // Of most programs this is all.
  if (phase() == Phase::kIdle && !has_few_modules() && !has_few_codes()) {
    return;
  }
  if (is_busy_.load(std::memory_order_relaxed) || is_busy_.exchange(true, std::memory_order_acquire)) {
    return;
  }
  switch (phase()) {
    case Phase::kIdle:
      if (++idle_steps_ > idle_steps_wanted_) {
        begin();
      }
      break;
    case Phase::kChoose:
      choose();
      break;
    case Phase::kMark:
      mark();
      break;
    case Phase::kMarkCallers:
      mark_callers();
      break;
    case Phase::kFree:
      free_some();
      break;
  }
  is_busy_.store(false, std::memory_order_release);
}

void TableSweep::go_on_with(Phase phase) {
  phase_.store(phase, std::memory_order_relaxed);
  next_ = 0;
}

void TableSweep::begin() {
  has_modules_ = has_few_modules();
  has_codes_ = has_few_codes();
  takes_modules_ = takes_modules_ && has_modules_;
  takes_codes_ = takes_codes_ && has_codes_;
  modules_left_ = takes_modules_ ? kMaxModules / kTakenShare : 0;
  codes_left_ = takes_codes_ ? max_codes(arena_) / kTakenShare : 0;
  shortages_.store(arena_.header().sweep.shortages.load(std::memory_order_relaxed),
                   std::memory_order_relaxed);
  modules_seen_ = has_modules_ ? modules_->size() : 0;
  first_module_ = module_hand_;
  first_code_ = code_hand_;
  candidates_ = 0;
  freed_ = 0;
  for (Bits* bits : {&taken_modules_, &named_modules_, &forgotten_modules_}) {
    bits->clear(kMaxModules);
  }
  for (Bits* bits : {&taken_codes_, &named_codes_, &forgotten_codes_}) {
    bits->clear(max_codes(arena_));
  }
  // From here on what runs is met, and entered anew by runtimes.
  number_ = static_cast<uint32_t>(arena_.header().sweep.number.fetch_add(1, std::memory_order_relaxed) + 1);
  go_on_with(Phase::kChoose);
}

// Returns how many candidates made room for it.
uint64_t TableSweep::choose_module(uint64_t i) {
  const uint32_t unloads = modules_->unloads_of(i);
  unloads_[i] = unloads;
  if (unloads == 0) {
    return 0;
  }
  if (modules_left_ != 0) {
    --modules_left_;
    module_hand_ = i + 1;
    taken_modules_.set(i);
  }
  const ModuleEntry& e = modules_->entry(i);
  if (!ModuleTable::is_primary(e.state.load(std::memory_order_relaxed))) {
    return 0;  // frames in it have its number
  }
  const uint64_t last = candidates_++;
  uint64_t place = last;
  for (; place != 0 && candidate_[place - 1].start > e.start; --place) {
    candidate_[place] = candidate_[place - 1];
  }
  candidate_[place] = {e.start, e.limit, static_cast<uint32_t>(i)};
  return last - place;
}

void TableSweep::choose_code(uint64_t i) {
  if (codes_left_ != 0 && !codes_->is_recent(static_cast<uint32_t>(i), number_)) {
    --codes_left_;
    code_hand_ = i + 1;
    taken_codes_.set(i);
  }
}

// Modules, then code, each from where the last one was taken: the oldest first, as far as entries were given in
// their order.
void TableSweep::choose() {
  const uint64_t modules = modules_seen_;
  const uint64_t codes = takes_codes_ ? codes_->size() : 0;
  if (next_ < modules) {
    uint64_t moved = 0;
    for (const uint64_t end = next_ + kSlice; next_ < end && next_ < modules && moved < kMaxMoved; ++next_) {
      moved += choose_module((first_module_ + next_) % modules);
    }
    return;
  }
  uint64_t i = next_ - modules;
  for (const uint64_t end = i + kCodeSlice; i < end && i < codes; ++i) {
    choose_code((first_code_ + i) % codes);
  }
  next_ = modules + i;
  if (i >= codes) {
    go_on_with(Phase::kMark);
    marking_.fetch_or(kIsMarking, std::memory_order_acq_rel);
  }
}

// Of a frame in a module: its entry, if that could go.
uint32_t TableSweep::module_of(uint64_t frame) const {
  if (frame <= platform::kLastGap) {
    return kNone;
  }
  const uint32_t entry = ModuleTable::entry_of(frame);
  if (entry != UINT32_MAX) {
    return entry < modules_seen_ && unloads_[entry] != 0 ? entry : kNone;
  }
  const uint64_t address = ModuleTable::address_of(frame) - 1;
  uint64_t low = 0;
  uint64_t high = candidates_;
  while (low < high) {
    const uint64_t middle = (low + high) / 2;
    if (candidate_[middle].limit <= address) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < candidates_ && candidate_[low].start <= address ? candidate_[low].entry : kNone;
}

void TableSweep::mark_frame(uint64_t frame) {
  if (is_runtime_frame(frame)) {
    const uint32_t id = code_of(frame);
    if (has_codes_ && codes_->has(id)) {
      named_codes_.set(CodeTable::entry_of(id));
    }
    return;
  }
  const uint32_t module = has_modules_ ? module_of(frame) : kNone;
  if (module != kNone) {
    named_modules_.set(module);
  }
}

void TableSweep::mark_frames(const uint64_t* frames, uint32_t depth) {
  for (uint32_t i = 0; i < depth; ++i) {
    mark_frame(frames[i]);
  }
}

// The function's file; where that is known no more either, its runtime.
uint64_t TableSweep::older_code(uint32_t entry, uint64_t frame) {
  if (!forgotten_codes_.has(entry)) {
    const uint32_t older = codes_->intern_older(entry);
    const uint32_t unknown = unknown_code(codes_->runtime_of(entry));
    older_[entry] = older == CodeTable::kNone || older == code_of(frame) ? unknown : older;
    forgotten_codes_.set(entry);
    count(arena_.header().later_statistics.folded_functions);
  }
  return runtime_frame(older_[entry], 0);
}

uint64_t TableSweep::forget(uint64_t frame) {
  if (is_runtime_frame(frame)) {
    const uint32_t id = code_of(frame);
    const uint32_t entry = CodeTable::entry_of(id);
    const bool is_taken =
        takes_codes_ && codes_->has(id) && taken_codes_.has(entry) && !codes_->is_recent(entry, number_);
    return is_taken ? older_code(entry, frame) : frame;
  }
  const uint32_t module = takes_modules_ ? module_of(frame) : kNone;
  if (module == kNone || !taken_modules_.has(module)) {
    return frame;
  }
  if (!forgotten_modules_.has(module)) {
    forgotten_modules_.set(module);
    count(arena_.header().later_statistics.folded_modules);
  }
  return platform::kOlderModules;
}

void TableSweep::forget_or_mark(uint64_t* frames, uint32_t count, bool is_held) {
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t frame = __atomic_load_n(frames + i, __ATOMIC_RELAXED);
    const uint64_t kept = is_held ? forget(frame) : frame;
    if (kept == frame) {
      mark_frame(frame);
    } else {
      store_once(frames + i, kept);
    }
  }
}

void TableSweep::mark_stack(uint32_t id) {
  StackEntry& e = stacks_->entry(id);
  // acquire pairs with the release in stack_table.cc; who makes another stack of it has marked what moved.
  if (e.ready.load(std::memory_order_acquire) == 0) {
    return;
  }
  // Closed: it may be opened as it was, so what it names stays.
  const bool is_held = stacks_->hold_any(id);
  forget_or_mark(arena_.at<uint64_t>(kFrameSection, e.first_frame), __atomic_load_n(&e.own, __ATOMIC_RELAXED),
                 is_held);
  if (is_held) {
    stacks_->release(id);
  }
}

void TableSweep::mark() {
  const uint64_t stacks = stacks_->size();
  const uint64_t share = arena_.header().limits.max_stacks / kSteps;
  const uint64_t end = next_ + (share < kMinStacks ? kMinStacks : share);
  for (; next_ < end && next_ < stacks; ++next_) {
    mark_stack(static_cast<uint32_t>(next_));
  }
  if (next_ >= stacks) {
    pieces_seen_ = stacks_->callers().size();
    go_on_with(Phase::kMarkCallers);
  }
}

// From the last one on, so that one that is emptied lets go of its callers before they are looked at.
void TableSweep::mark_callers() {
  const CallerTable& callers = stacks_->callers();
  const uint64_t share = arena_.section(kCallerSection).capacity_bytes / sizeof(CallerPiece) / kSteps;
  const uint64_t end = next_ + (share < kMinStacks ? kMinStacks : share);
  for (; next_ < end && next_ + 1 < pieces_seen_; ++next_) {
    const auto id = static_cast<uint32_t>(pieces_seen_ - 1 - next_);
    if (callers.empty(id)) {
      continue;
    }
    const bool is_held = callers.hold_any(id);
    forget_or_mark(callers.piece(id).frames, kPieceFrames, is_held);
    if (is_held) {
      callers.release(id);
    }
  }
  // Who wrote a stack that was looked at before it was there has marked it before something is freed.
  if (next_ + 1 >= pieces_seen_ && marking_.load(std::memory_order_acquire) == kIsMarking) {
    go_on_with(Phase::kFree);
  }
}

// Marks of other threads are seen: who moved frames marked them before the stack that had them was given away, which
// mark_stack() saw (acquire).
void TableSweep::free_some() {
  const uint64_t modules = modules_seen_;
  const uint64_t codes = has_codes_ ? codes_->size() : 0;
  if (next_ < modules) {
    for (const uint64_t last = next_ + kSlice; next_ < last && next_ < modules; ++next_) {
      if (unloads_[next_] != 0 && !named_modules_.has(next_)) {
        freed_ += modules_->free_entry(next_, unloads_[next_]);
      }
    }
    return;
  }
  uint64_t i = next_ - modules;
  for (const uint64_t last = i + kSlice; i < last && i < codes; ++i) {
    if (!named_codes_.has(i)) {
      freed_ += codes_->free_entry(static_cast<uint32_t>(i), number_);
    }
  }
  next_ = modules + i;
  if (i >= codes) {
    end();
  }
}

void TableSweep::end() {
  uint32_t nobody_watches = kIsMarking;
  if (!marking_.compare_exchange_strong(nobody_watches, 0, std::memory_order_acq_rel)) {
    return;  // a thread still reads what the next sweep chooses anew; the next step tries again
  }
  // What the next one is to take from its stacks.
  takes_modules_ = has_modules_ && has_few_modules();
  takes_codes_ = has_codes_ && has_few_codes();
  const bool is_useless = freed_ == 0 && idle_steps_ >= kMinIdleSteps;
  idle_steps_wanted_ = !is_useless                       ? kMinIdleSteps
                       : idle_steps_ < kMaxIdleSteps / 2 ? 2 * idle_steps_
                                                         : kMaxIdleSteps;
  idle_steps_ = 0;
  go_on_with(Phase::kIdle);
}

}  // namespace memprof
