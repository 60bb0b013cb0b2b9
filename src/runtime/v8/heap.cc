// SPDX-License-Identifier: Apache-2.0
#include "runtime/v8/heap.h"

#include <atomic>
#include <cstring>
#include <new>

#include "core/engine/ending.h"
#include "core/engine/facts.h"
#include "core/engine/profiler.h"
#include "core/sampling/sampler.h"
#include "platform/clock.h"
#include "platform/process.h"
#include "runtime/v8/handle_scope.h"

namespace memprof::v8 {

__thread uint32_t t_heap_calls __attribute__((tls_model("initial-exec")));

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

std::atomic<bool> g_is_wanted{false};  // relaxed
// Of the thread that began, which alone uses them.
const Engine* g_engine_of_heap = nullptr;
void* g_isolate = nullptr;
uint32_t g_process_id = 0;
uint32_t g_calls_without_node = 0;
uint64_t g_begin_ns = 0;
uint64_t g_next_ns = 0;
bool g_has_ended = false;
bool g_is_sampling = false;  // because we wanted it
RuntimeHeapTable* g_table = nullptr;
alignas(RuntimeHeapTable) uint8_t g_table_place[sizeof(RuntimeHeapTable)];

// V8's answer as a tree of the table's.
class Telling {
 public:
  Telling(const HeapFunctions& heap, void* isolate) : heap_(heap), isolate_(isolate) {}

  void visit(const AllocationNode& node, uint32_t caller) {
    uint64_t bytes = 0;
    for (const AllocationNode::Allocation* a = node.allocations.begin; a != node.allocations.end; ++a) {
      bytes += a->size * a->count;
    }
    uint32_t own = RuntimeHeapTable::kNone;
    if (node.script_id != 0) {
      own = g_table->add({name_of(node), text_of(node.script_name, ""), bytes,
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
      g_table->add_bytes(to, bytes);
    } else if (nobody_ != RuntimeHeapTable::kNone) {
      g_table->add_bytes(nobody_, bytes);
    } else {
      nobody_ =
          g_table->add({g_table->text(kNobody, sizeof(kNobody) - 1), 0, bytes, 0, RuntimeHeapTable::kNone});
    }
  }

  uint32_t text_of(void* handle, const char* otherwise) const {
    Utf8Value text{};
    heap_.begin_text(&text, isolate_, handle, kNoOptions);
    const char* const chosen = text.text != nullptr && text.text[0] != '\0' ? text.text : otherwise;
    const uint32_t place = g_table->text(chosen, strlen(chosen));
    heap_.end_text(&text);
    return place;
  }

  uint32_t name_of(const AllocationNode& node) const {
    return text_of(node.name, node.line == 1 && node.column == 1 ? kTopLevel : kAnonymous);
  }

  const HeapFunctions& heap_;
  void* isolate_;
  uint32_t nobody_ = RuntimeHeapTable::kNone;
};

RuntimeHeapSums sums_of(const HeapFunctions& heap, void* isolate) {
  HeapStatistics all{};
  heap.statistics(isolate, &all);
  uint64_t code_bytes = 0;
  const size_t spaces = heap.space_count(isolate);
  for (size_t i = 0; i < spaces; ++i) {
    HeapSpaceStatistics space{};
    if (heap.space_statistics(isolate, &space, i) && space.name != nullptr &&
        strncmp(space.name, "code_", strlen("code_")) == 0) {
      code_bytes += space.used_bytes;
    }
  }
  return {kRuntimeId, all.physical_bytes, all.used_bytes, 0, code_bytes, all.external_bytes};
}

bool is_ours(void* isolate) {
  return isolate == g_isolate && g_process_id == platform::process_id() && !platform::is_sandboxed();
}

void tell(const Engine& engine, void* isolate) {
  const MuteScope mute;
  const Scope scope(engine.heap, isolate);
  const RuntimeHeapSums sums = sums_of(engine.heap, isolate);
  AllocationProfile* const profile = engine.heap.profile(engine.heap.profiler(isolate));
  // nullptr: the program has ended the sampling, by an inspector of its own.
  if (profile == nullptr) {
    return;
  }
  if (g_table->begin()) {
    Telling(engine.heap, isolate).visit(*profile->functions->root(profile), RuntimeHeapTable::kNone);
    profiler::note_runtime_heap(*g_table, sums);
  }
  profile->functions->remove(profile);
}

// Node calls it while the program's objects are there: where the event loop has come to its end, when it cleans up, and at
// process.exit().  The first of both is right; at the second there may be nothing left.
void at_end(void* /*unused*/) {
  const Engine* const engine = v8::engine();
  if (g_has_ended || engine == nullptr || engine != g_engine_of_heap) {
    return;
  }
  g_has_ended = true;
  if (is_ours(g_isolate)) {
    profiler::note_runtime_end_begun();
    tell(*engine, g_isolate);
  }
  // V8 13 crashes where an isolate ends that samples.
  if (g_is_sampling) {
    const MuteScope mute;
    engine->heap.stop(engine->heap.profiler(g_isolate));
  }
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
  if (environment == nullptr || !arena) {
    return false;
  }
  const uint64_t rate = arena.header().rate_bytes.load(std::memory_order_relaxed);
  g_table = new (g_table_place) RuntimeHeapTable;
  g_engine_of_heap = &engine;
  g_isolate = isolate;
  g_process_id = platform::process_id();
  // false: the program samples already.  Then its samples are told.
  g_is_sampling = engine.heap.start(engine.heap.profiler(isolate),
                                    rate > kMinRateBytes ? rate : kMinRateBytes, kMaxDepth, kCollectNothing);
  engine.heap.at_exit(environment, at_end, nullptr);
  engine.heap.at_cleanup(isolate, at_end, nullptr);
  g_begin_ns = platform::monotonic_ns();
  g_next_ns = g_begin_ns + kFirstPauseNs;
  return true;
}

}  // namespace

void sample_heap(bool on) {
  g_is_wanted.store(on, std::memory_order_relaxed);
}

void begin_heap(const Engine& engine) {
  const bool is_first = platform::thread_id() == platform::process_id() && g_isolate == nullptr;
  if (g_is_wanted.load(std::memory_order_relaxed) && engine.heap.profiler != nullptr && is_first &&
      !platform::is_sandboxed()) {
    t_heap_calls = 1;
  }
}

void look_at_heap(const Engine& engine, void* isolate) {
  if (g_isolate == nullptr) {
    const bool has_begun = begin_sampling(engine, isolate);
    t_heap_calls = has_begun ? kCallsUntilLook : ++g_calls_without_node < kMaxCallsWithoutNode ? 1 : 0;
    return;
  }
  if (!is_ours(isolate) || g_has_ended) {
    return;  // for ever
  }
  t_heap_calls = kCallsUntilLook;
  const uint64_t now = platform::monotonic_ns();
  if (now < g_next_ns) {
    return;
  }
  tell(engine, isolate);
  const uint64_t end = platform::monotonic_ns();
  const uint64_t wanted = (end - g_begin_ns) / kTimePerPause;
  const uint64_t pause = wanted < kLongestPauseNs ? wanted : kLongestPauseNs;
  const uint64_t least = (end - now) * kPausePerCost;
  g_next_ns = end + (pause > least ? pause : least);
}

void reset_heap_in_child() {
  t_heap_calls = 0;
}

}  // namespace memprof::v8
