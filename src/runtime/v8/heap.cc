// SPDX-License-Identifier: Apache-2.0
#include "runtime/v8/heap.h"

#include <atomic>
#include <cstring>
#include <new>

#include "core/engine/ending.h"
#include "core/engine/facts.h"
#include "core/engine/profiler.h"
#include "core/rates/fine_start.h"
#include "core/sampling/sampler.h"
#include "platform/clock.h"
#include "platform/process.h"
#include "runtime/v8/handle_scope.h"
#include "runtime/v8/lock.h"

namespace memprof::v8 {

__thread uint32_t t_heap_calls MEMPROF_TLS_MODEL;

namespace {

// V8 keeps some 500 bytes of each sample.
constexpr uint64_t kMinRateBytes = 16 * 1024;
constexpr int kMaxDepth = 128;  // of V8's stacks: what its inspector asks for
constexpr int kCollectNothing = 0;
constexpr int kNoOptions = 0;
// Calls of JavaScript until the time is looked at, and until Node's environment is there.
constexpr uint32_t kCallsUntilLook = 64;
constexpr uint32_t kMaxCallsWithoutNode = 4096;
// Until the first answer; between two: a share of the time until then, and no more than the longest, but so many times what
// the last one took.
constexpr uint64_t kFirstPauseNs = 1'000'000'000;
constexpr uint64_t kTimePerPause = 8;
constexpr uint64_t kLongestPauseNs = 10'000'000'000;
constexpr uint64_t kPausePerCost = 1000;

constexpr char kNobody[] = "(no JavaScript function)";
constexpr char kTopLevel[] = "(top level)";
constexpr char kAnonymous[] = "(anonymous)";

std::atomic<bool> g_is_wanted{false};      // relaxed
std::atomic<bool> g_is_left_alone{false};  // relaxed
std::atomic<uint32_t> g_process_id{0};     // in which the first began; relaxed

// Of one isolate, for the thread that runs it.
struct Heap {
  std::atomic<void*> isolate{nullptr};  // nullptr: the place is free; acquire and release
  const Engine* engine = nullptr;       // also while another thread has it suspended
  uint64_t begin_ns = 0;
  uint64_t next_ns = 0;
  // What was told last; under g_is_telling, as is_told.
  RuntimeHeapSums sums{};
  RuntimeHeapTable* tree = nullptr;
  alignas(RuntimeHeapTable) uint8_t tree_place[sizeof(RuntimeHeapTable)];
  bool is_told = false;
  bool is_main = false;
  bool is_sampling = false;  // because we wanted it
};
constexpr uint32_t kMaxHeaps = 64;
Heap g_heaps[kMaxHeaps];
std::atomic<bool> g_is_telling{false};  // acquire and release
std::atomic<bool> g_has_ended{false};   // the main thread's Node; relaxed
RuntimeHeapTable* g_all = nullptr;      // of several isolates; under g_is_telling
alignas(RuntimeHeapTable) uint8_t g_all_place[sizeof(RuntimeHeapTable)];

__thread Heap* t_heap MEMPROF_TLS_MODEL;
__thread bool t_has_ended MEMPROF_TLS_MODEL;
__thread uint32_t t_calls_without_node MEMPROF_TLS_MODEL;

// V8's answer as a tree of the table's.
class Telling {
 public:
  Telling(const HeapFunctions& heap, void* isolate, RuntimeHeapTable* tree)
      : heap_(heap), isolate_(isolate), tree_(*tree) {}

  void visit(const AllocationNode& node, uint32_t caller) {
    uint64_t bytes = 0;
    for (const AllocationNode::Allocation* a = node.allocations.begin; a != node.allocations.end; ++a) {
      bytes += a->size * a->count;
    }
    uint32_t own = RuntimeHeapTable::kNone;
    if (node.script_id != 0) {
      own = tree_.add({name_of(node), text_of(node.script_name, ""), bytes,
                       static_cast<uint32_t>(node.line > 0 ? node.line : 0), caller});
    }
    // V8's own work (it compiles, collects garbage) and what found no room are the caller's.
    if (own == RuntimeHeapTable::kNone && bytes != 0) {
      give(bytes, caller);
    }
    own = own == RuntimeHeapTable::kNone ? caller : own;
    for (AllocationNode* const* child = node.children.begin; child != node.children.end; ++child) {
      visit(**child, own);  // as deep as kMaxDepth
    }
  }

 private:
  void give(uint64_t bytes, uint32_t to) {
    if (to != RuntimeHeapTable::kNone) {
      tree_.add_bytes(to, bytes);
    } else if (nobody_ != RuntimeHeapTable::kNone) {
      tree_.add_bytes(nobody_, bytes);
    } else {
      nobody_ = tree_.add({tree_.text(kNobody, sizeof(kNobody) - 1), 0, bytes, 0, RuntimeHeapTable::kNone});
    }
  }

  uint32_t text_of(void* handle, const char* otherwise) const {
    Utf8Value text{};
    heap_.begin_text(&text, isolate_, handle, kNoOptions);
    const char* const chosen = text.text != nullptr && text.text[0] != '\0' ? text.text : otherwise;
    const uint32_t place = tree_.text(chosen, strlen(chosen));
    heap_.end_text(&text);
    return place;
  }

  uint32_t name_of(const AllocationNode& node) const {
    return text_of(node.name, node.line == 1 && node.column == 1 ? kTopLevel : kAnonymous);
  }

  const HeapFunctions& heap_;
  void* isolate_;
  RuntimeHeapTable& tree_;
  uint32_t nobody_ = RuntimeHeapTable::kNone;
};

bool ends_with(const char* text, const char* end) {
  const size_t bytes = strlen(text);
  const size_t of_end = strlen(end);
  return bytes >= of_end && memcmp(text + bytes - of_end, end, of_end) == 0;
}

RuntimeHeapSums sums_of(const HeapFunctions& heap, void* isolate) {
  HeapStatistics all{};
  heap.statistics(isolate, &all);
  RuntimeHeapSums sums{kRuntimeId, all.physical_bytes, all.used_bytes, 0, 0, all.external_bytes, {}};
  const size_t spaces = heap.space_count(isolate);
  for (size_t i = 0; i < spaces; ++i) {
    HeapSpaceStatistics space{};
    if (!heap.space_statistics(isolate, &space, i) || space.name == nullptr) {
      continue;
    }
    sums.code_bytes += strncmp(space.name, "code_", strlen("code_")) == 0 ? space.used_bytes : 0;
    // new_space, new_large_object_space; large_object_space and its kin; all others are old.
    (strncmp(space.name, "new_", strlen("new_")) == 0 ? sums.spaces.young_bytes
     : ends_with(space.name, "large_object_space")    ? sums.spaces.large_bytes
                                                      : sums.spaces.old_bytes) += space.physical_bytes;
  }
  return sums;
}

bool is_ours() {
  return g_process_id.load(std::memory_order_relaxed) == platform::process_id() && !platform::is_sandboxed();
}

// Of all isolates what each told last.
void publish() {
  const Heap* only = nullptr;
  uint32_t count = 0;
  RuntimeHeapSums sums{};
  sums.runtime = kRuntimeId;
  for (const Heap& heap : g_heaps) {
    if (heap.is_told) {
      only = &heap;
      ++count;
      sums.resident_bytes += heap.sums.resident_bytes;
      sums.used_bytes += heap.sums.used_bytes;
      sums.code_bytes += heap.sums.code_bytes;
      sums.external_bytes += heap.sums.external_bytes;
      sums.spaces.young_bytes += heap.sums.spaces.young_bytes;
      sums.spaces.old_bytes += heap.sums.spaces.old_bytes;
      sums.spaces.large_bytes += heap.sums.spaces.large_bytes;
    }
  }
  if (count == 1) {
    profiler::note_runtime_heap(*only->tree, sums);
    return;
  }
  if (g_all == nullptr) {
    g_all = new (g_all_place) RuntimeHeapTable;
  }
  if (!g_all->begin()) {
    return;
  }
  uint64_t without_room = 0;
  for (const Heap& heap : g_heaps) {
    without_room += heap.is_told ? g_all->append(*heap.tree) : 0;
  }
  if (without_room != 0) {
    g_all->add({g_all->text(kNobody, sizeof(kNobody) - 1), 0, without_room, 0, RuntimeHeapTable::kNone});
  }
  profiler::note_runtime_heap(*g_all, sums);
}

void tell(Heap* heap) {
  const MuteScope mute;
  const HeapFunctions& functions = heap->engine->heap;
  void* const isolate = heap->isolate.load(std::memory_order_relaxed);
  const Scope scope(functions, isolate);
  const RuntimeHeapSums sums = sums_of(functions, isolate);
  AllocationProfile* const profile = functions.profile(functions.profiler(isolate));
  // nullptr: the program has ended the sampling, by an inspector of its own.
  if (profile == nullptr) {
    return;
  }
  {
    const Lock telling(&g_is_telling);
    if (heap->tree->begin()) {
      Telling(functions, isolate, heap->tree)
          .visit(*profile->functions->root(profile), RuntimeHeapTable::kNone);
      heap->sums = sums;
      heap->is_told = true;
      publish();
    }
  }
  profile->functions->remove(profile);
}

// Its objects are gone, and with them what it told, unless the process ends: then that is what the worker held.
void forget(Heap* heap) {
  const Lock telling(&g_is_telling);
  if (!g_has_ended.load(std::memory_order_relaxed)) {
    const bool was_told = heap->is_told;
    heap->is_told = false;
    if (was_told && is_ours()) {
      publish();
    }
    heap->isolate.store(nullptr, std::memory_order_release);
  }
}

// Node calls it while the objects of the thread are there: where its event loop has come to its end, when it cleans up, and at
// process.exit().  The first of both is right; at the second there may be nothing left.
void at_end(void* /*unused*/) {
  Heap* const heap = t_heap;
  if (heap == nullptr) {
    return;
  }
  const HeapFunctions& functions = heap->engine->heap;
  t_heap = nullptr;
  t_has_ended = true;
  t_heap_calls = 0;
  if (heap->is_main && is_ours()) {
    profiler::note_runtime_end_begun();
    tell(heap);
    g_has_ended.store(true, std::memory_order_relaxed);
  }
  // V8 13 crashes where an isolate ends that samples.
  if (heap->is_sampling) {
    const MuteScope mute;
    functions.stop(functions.profiler(heap->isolate.load(std::memory_order_relaxed)));
  }
  if (!heap->is_main) {
    forget(heap);
  }
}

// nullptr: there are as many as there is room for.
Heap* take_place(void* isolate) {
  for (Heap& heap : g_heaps) {
    void* nobody = nullptr;
    if (heap.isolate.compare_exchange_strong(nobody, isolate, std::memory_order_acq_rel)) {
      return &heap;
    }
  }
  return nullptr;
}

// false: Node is not that far yet, or this V8 is not known.
bool begin_sampling(const Engine& engine, void* isolate) {
  const MuteScope mute;
  if (!has_handle_scopes(engine.heap, isolate)) {
    return false;
  }
  const Scope scope(engine.heap, isolate);
  void* const context = engine.heap.context(isolate);
  void* const environment = context != nullptr ? engine.heap.environment(context) : nullptr;
  const Arena arena = profiler::arena();
  Heap* const heap = environment != nullptr && arena ? take_place(isolate) : nullptr;
  if (heap == nullptr) {
    return false;
  }
  const uint64_t rate = fine_start::lasting_rate();  // V8's cannot change
  if (heap->tree == nullptr) {
    heap->tree = new (heap->tree_place) RuntimeHeapTable;
  }
  t_heap = heap;
  heap->engine = &engine;
  g_process_id.store(platform::process_id(), std::memory_order_relaxed);
  heap->is_main = platform::thread_id() == platform::process_id();
  // false: the program samples already.  Then its samples are told.
  heap->is_sampling = engine.heap.start(
      engine.heap.profiler(isolate), rate > kMinRateBytes ? rate : kMinRateBytes, kMaxDepth, kCollectNothing);
  engine.heap.at_exit(environment, at_end, nullptr);
  engine.heap.at_cleanup(isolate, at_end, nullptr);
  heap->begin_ns = platform::monotonic_ns();
  heap->next_ns = heap->begin_ns + kFirstPauseNs;
  return true;
}

}  // namespace

void sample_heap(bool on) {
  g_is_wanted.store(on, std::memory_order_relaxed);
}

void leave_heap_alone() {
  g_is_left_alone.store(true, std::memory_order_relaxed);
}

void begin_heap(const Engine& engine) {
  if (g_is_wanted.load(std::memory_order_relaxed) && !g_is_left_alone.load(std::memory_order_relaxed) &&
      engine.heap.profiler != nullptr && t_heap == nullptr && !t_has_ended && !platform::is_sandboxed()) {
    t_heap_calls = 1;
  }
}

void look_at_heap(const Engine& engine, void* isolate) {
  Heap* const heap = t_heap;
  if (heap == nullptr) {
    const bool has_begun = begin_sampling(engine, isolate);
    t_heap_calls = has_begun ? kCallsUntilLook : ++t_calls_without_node < kMaxCallsWithoutNode ? 1 : 0;
    return;
  }
  if (heap->isolate.load(std::memory_order_relaxed) != isolate || !is_ours()) {
    return;  // for ever
  }
  t_heap_calls = kCallsUntilLook;
  const uint64_t now = platform::monotonic_ns();
  if (now < heap->next_ns) {
    return;
  }
  tell(heap);
  const uint64_t end = platform::monotonic_ns();
  const uint64_t wanted = (end - heap->begin_ns) / kTimePerPause;
  const uint64_t pause = wanted < kLongestPauseNs ? wanted : kLongestPauseNs;
  const uint64_t least = (end - now) * kPausePerCost;
  heap->next_ns = end + (pause > least ? pause : least);
}

// Whoever told stayed with the parent.
void reset_heap_in_child() {
  t_heap_calls = 0;
  g_is_telling.store(false, std::memory_order_release);
}

}  // namespace memprof::v8
