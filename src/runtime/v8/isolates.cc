// SPDX-License-Identifier: Apache-2.0
#include "runtime/v8/isolates.h"

#include <new>
#include <string_view>

#include "platform/memory.h"
#include "platform/object_format.h"
#include "platform/process.h"
#include "runtime/runtime.h"
#include "runtime/v8/code/code_name.h"
#include "runtime/v8/heap.h"
#include "runtime/v8/lock.h"

namespace memprof::v8 {
namespace {

Isolate g_isolates[kMaxIsolates];
std::atomic<bool> g_is_choosing{false};         // acquire and release
std::atomic<uint64_t> g_uses{0};                // relaxed
std::atomic<bool> g_counts_collections{false};  // relaxed

// Of the calling thread.
__thread Isolate* t_isolate MEMPROF_TLS_MODEL;

Isolate* find_isolate(const void* isolate) {
  for (Isolate& known : g_isolates) {
    if (isolate != nullptr && known.is_of(isolate)) {
      return &known;
    }
  }
  return nullptr;
}

// A place for an isolate that is new to its thread: that of a dead one with the same address, a free one, or
// the one that was used least recently.  The thread of the last, if it lives, finds that it lost its place.
Isolate* choose(const void* isolate) {
  if (Isolate* const same = find_isolate(isolate)) {
    return same;
  }
  Isolate* oldest = &g_isolates[0];
  for (Isolate& known : g_isolates) {
    if (known.is_of(nullptr)) {
      return &known;
    }
    oldest = known.last_use() < oldest->last_use() ? &known : oldest;
  }
  return oldest;
}

// `data`: the place of the isolate, and which begin() it is of. Who lost his place may have come back to one: only what he
// said last is counted.
void on_collection(void* isolate, int /*type*/, int /*flags*/, void* data) {
  const auto place = reinterpret_cast<uint64_t>(data);
  const Isolate& known = g_isolates[place % kMaxIsolates];
  if (known.is_of(isolate) && known.begins() == place / kMaxIsolates) {
    runtimes::note_collection();
  }
}

}  // namespace

void Isolate::count_collections(const Engine& engine, uint32_t place) {
  if (engine.add_collection_callback != nullptr &&
      !counts_collections_.exchange(true, std::memory_order_relaxed)) {
    engine.add_collection_callback(isolate_.load(std::memory_order_relaxed), on_collection,
                                   reinterpret_cast<void*>(uint64_t{begins()} * kMaxIsolates + place),
                                   kCollectionTypes);
  }
}

void count_collections_of_isolates() {
  g_counts_collections.store(true, std::memory_order_relaxed);
}

MachineCode MachineCode::of(const Engine& engine, void* isolate) {
  const void* embedded = nullptr;
  size_t embedded_bytes = 0;
  engine.embedded_code_range(isolate, &embedded, &embedded_bytes);
  void* compiled = nullptr;
  size_t compiled_bytes = 0;
  engine.code_range(isolate, &compiled, &compiled_bytes);
  return {reinterpret_cast<uint64_t>(embedded), embedded_bytes, reinterpret_cast<uint64_t>(compiled),
          compiled_bytes};
}

class Isolate::Writing : public Lock {
 public:
  explicit Writing(Isolate* isolate) : Lock(&isolate->is_writing_) {}
};

void Isolate::note_use() {
  last_use_.store(g_uses.fetch_add(1, std::memory_order_relaxed), std::memory_order_relaxed);
}

bool Isolate::begin(const Engine& engine, void* isolate) {
  const Writing writing(this);
  isolate_.store(nullptr, std::memory_order_release);
  if (codes_ == nullptr) {
    void* const codes = platform::reserve_pages(sizeof(Codes));
    void* const pending = platform::reserve_pages(kMaxPending * sizeof(PositionLine));
    void* const scratch = platform::reserve_pages(kScratchBytes);
    void* const work = platform::reserve_pages(sizeof(Work));
    if (codes == nullptr || pending == nullptr || scratch == nullptr || work == nullptr) {
      return false;
    }
    codes_ = static_cast<Codes*>(codes);
    pending_ = static_cast<PositionLine*>(pending);
    scratch_ = static_cast<uint8_t*>(scratch);
    work_ = new (work) Work;
  } else {
    codes_->clear();
  }
  pending_count_ = 0;
  pending_codes_count_ = 0;
  counts_collections_.store(false, std::memory_order_relaxed);
  begins_.fetch_add(1, std::memory_order_relaxed);
  machine_code_ = MachineCode::of(engine, isolate);
  wants_all_code_.store(false, std::memory_order_relaxed);
  knows_all_code_.store(false, std::memory_order_relaxed);
  note_use();
  isolate_.store(isolate, std::memory_order_release);
  return true;
}

void Isolate::set_handler(const Engine& engine, void* isolate) {
  const bool all = wants_all_code_.exchange(false, std::memory_order_relaxed);
  if (all && codes_->is_full()) {
    const Writing writing(this);
    codes_->clear();
  }
  engine.set_code_event_handler(isolate, all ? kAllCode : kNewCode, on_code_event);
  if (all) {
    find_lacking_lines(engine);
    knows_all_code_.store(true, std::memory_order_relaxed);
  }
}

uint32_t Isolate::add_locked(const JitCodeEvent& event) {
  const Writing writing(this);
  return codes_->add(
      event.code_type == JitCodeEvent::kBytecode ? CodeKind::kBytecode : CodeKind::kMachineCode,
      reinterpret_cast<uint64_t>(event.code_start),
      static_cast<uint32_t>(event.code_bytes < UINT32_MAX ? event.code_bytes : 0),
      {event.name.text, event.name.size_bytes});
}

// V8 found the line of the function itself before it told its name: the lines of the script are made, and
// asking for others allocates nothing.
void Isolate::find_lines(const Engine& engine, const JitCodeEvent& event, uint32_t record,
                         const PendingCode& code) {
  PositionLine* const lines = pending_ + code.first;
  uint32_t own_count = 0;
  const bool is_bytecode = event.code_type == JitCodeEvent::kBytecode;
  const PositionLine* const own = is_bytecode ? nullptr : codes_->own_lines(record, &own_count);
  if (own != nullptr) {
    resolve_inlined(lines, code.count, own, own_count);
  } else if (is_bytecode) {
    for (uint32_t i = 0; i < code.count; ++i) {
      const int line = engine.line_number(event.script, static_cast<int>(lines[i].position));
      lines[i].line = line >= 0 ? static_cast<uint32_t>(line) + 1 : 0;
    }
  } else {
    return;
  }
  const Writing writing(this);
  codes_->set_lines(record, lines, code.count);
}

void Isolate::begin_positions() {
  if (pending_codes_count_ == kMaxPendingCodes || pending_count_ > kMaxPending / 2) {
    pending_codes_count_ = 0;  // of those V8 told no name
  }
  if (pending_codes_count_ == 0) {
    pending_count_ = 0;
  }
  pending_first_ = pending_count_;
}

void Isolate::end_positions(uint64_t start) {
  if (pending_count_ > pending_first_ && pending_codes_count_ < kMaxPendingCodes) {
    work_->pending_codes[pending_codes_count_++] = {start, pending_first_, pending_count_ - pending_first_};
  }
}

bool Isolate::take_pending(uint64_t start, PendingCode* taken) {
  for (uint32_t i = pending_codes_count_; i-- > 0;) {
    if (work_->pending_codes[i].start == start) {
      *taken = work_->pending_codes[i];
      work_->pending_codes[i] = work_->pending_codes[--pending_codes_count_];
      return true;
    }
  }
  return false;
}

// The scratch memory has the bytecode, the table, and the lines that come of both.
void Isolate::find_baseline_lines(const Engine& engine, const JitCodeEvent& event, uint32_t record) {
  constexpr uint32_t kThird = kScratchBytes / 4;
  BaselineCode code{};
  Code bytecode{};
  code.own = codes_->own_lines(record, &code.own_count);
  code.sizes = bytecode_sizes(engine.version);
  if (code.own == nullptr || code.sizes == nullptr || !codes_->own_bytecode(record, &bytecode) ||
      bytecode.size_bytes > kThird || !platform::read_memory(bytecode.start, scratch_, bytecode.size_bytes)) {
    return;
  }
  code.bytecode = {scratch_, bytecode.size_bytes};
  code.machine_bytes = static_cast<uint32_t>(event.code_bytes);
  auto* const lines = reinterpret_cast<PositionLine*>(scratch_ + 2 * kThird);
  uint32_t count = 0;
  code_objects_.find_table(reinterpret_cast<uint64_t>(event.code_start), [&](uint64_t start, uint32_t bytes) {
    uint8_t* const table = scratch_ + kThird;
    if (bytes > kThird || !platform::read_memory(start, table, bytes)) {
      return false;
    }
    count = make_baseline_lines(code, {table, bytes}, lines, 2 * kThird / sizeof(PositionLine));
    return count != 0;
  });
  if (count != 0) {
    const Writing writing(this);
    codes_->set_lines(record, lines, count);
  }
}

bool Isolate::find_optimised_lines(const Engine& engine, const Code& code) {
  constexpr int32_t kMaxHeaderBytes = 256;
  constexpr uint32_t kNewTables = 14;
  const int32_t header = engine.bytecode_header != nullptr ? *engine.bytecode_header : 0;
  if (header <= 0 || header > kMaxHeaderBytes) {
    return false;
  }
  const Writing writing(this);
  return work_->inlining.add_lines(codes_, code.record, code,
                                   {static_cast<uint32_t>(header), engine.version >> 8 >= kNewTables},
                                   scratch_);
}

// V8 tells of optimised code before it tells of what was inlined into it.
void Isolate::find_lacking_lines(const Engine& engine) {
  work_->inlining.try_again();
  Code code{};
  for (uint32_t first = 0; codes_->find_lacking(first, &code); first = code.record + 1) {
    find_optimised_lines(engine, code);
  }
}

void Isolate::add_code(const Engine& engine, const JitCodeEvent& event) {
  const uint32_t record = add_locked(event);
  const std::string_view name(event.name.text, event.name.size_bytes);
  PendingCode code{};
  const bool has_positions =
      t_isolate == this && take_pending(reinterpret_cast<uint64_t>(event.code_start), &code);
  if (t_isolate != this || record == Codes::kNone || event.script == nullptr) {
    return;
  }
  if (event.code_type == JitCodeEvent::kMachineCode && !is_baseline(name) &&
      find_optimised_lines(engine, {reinterpret_cast<uint64_t>(event.code_start),
                                    static_cast<uint32_t>(event.code_bytes), record})) {
    return;
  }
  // The lines of Node's own scripts are not asked for; positions alone tell which functions were inlined.
  if (is_internal_code(name)) {
    if (has_positions && event.code_type == JitCodeEvent::kBytecode) {
      const Writing writing(this);
      codes_->set_lines(record, pending_ + code.first, code.count);
    }
    return;
  }
  if (has_positions) {
    find_lines(engine, event, record, code);
  } else if (event.code_type == JitCodeEvent::kMachineCode && is_baseline(name)) {
    find_baseline_lines(engine, event, record);
  }
}

void Isolate::tell(const Engine& engine, const JitCodeEvent& event) {
  switch (event.type) {
    case JitCodeEvent::kAdded:
      return add_code(engine, event);
    case JitCodeEvent::kMoved: {
      const Writing writing(this);
      return codes_->move(reinterpret_cast<uint64_t>(event.code_start),
                          reinterpret_cast<uint64_t>(event.moved));
    }
    case JitCodeEvent::kRemoved:
      return;  // V8 tells it of no code of JavaScript
    case JitCodeEvent::kLinesBegin:
      return t_isolate == this ? begin_positions() : void();
    case JitCodeEvent::kLine:
      if (t_isolate == this && pending_count_ < kMaxPending && event.line.offset < UINT32_MAX &&
          event.line.position < INT32_MAX) {
        pending_[pending_count_++] = {static_cast<uint32_t>(event.line.offset),
                                      static_cast<uint32_t>(event.line.position), 0};
      }
      return;
    case JitCodeEvent::kLinesEnd:
      return t_isolate == this ? end_positions(reinterpret_cast<uint64_t>(event.code_start)) : void();
  }
}

Isolate* isolate_of_thread(const void* isolate) {
  return t_isolate != nullptr && t_isolate->is_of(isolate) ? t_isolate : nullptr;
}

void before_call(void* isolate) {
  Isolate* known = isolate_of_thread(isolate);
  const bool is_known = known != nullptr && !known->wants_all_code();
  const bool heap_is_due = is_heap_due();
  const bool counts = g_counts_collections.load(std::memory_order_relaxed);
  const bool is_told = !counts || (known != nullptr && known->counts_collections());
  if (__builtin_expect(is_known && !heap_is_due && is_told, 1)) {
    return;
  }
  const Engine* const engine = v8::engine();
  if (engine == nullptr) {
    return;
  }
  if (heap_is_due) {
    look_at_heap(*engine, isolate);
  }
  if (is_known) {
    if (counts) {
      known->count_collections(*engine, static_cast<uint32_t>(known - g_isolates));
    }
    return;
  }
  if (known == nullptr) {
    const Lock choosing(&g_is_choosing);
    known = choose(isolate);
    if (!known->begin(*engine, isolate)) {
      return;
    }
    t_isolate = known;
    begin_heap(*engine);
  }
  known->set_handler(*engine, isolate);
  if (counts) {
    known->count_collections(*engine, static_cast<uint32_t>(known - g_isolates));
  }
}

void on_code_event(const JitCodeEvent* event) {
  const Engine* const engine = v8::engine();
  Isolate* const known =
      t_isolate != nullptr && t_isolate->is_of(event->isolate) ? t_isolate : find_isolate(event->isolate);
  if (engine != nullptr && known != nullptr) {
    known->tell(*engine, *event);
  }
}

void reset_isolates_in_child() {
  g_is_choosing.store(false, std::memory_order_release);
  for (Isolate& known : g_isolates) {
    known.reset_in_child();
  }
}

}  // namespace memprof::v8
