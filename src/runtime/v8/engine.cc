// SPDX-License-Identifier: Apache-2.0
#include "runtime/v8/engine.h"

#include "platform/object_format.h"
#include "runtime/found_module.h"

namespace memprof::v8 {

using runtimes::set_function;

std::atomic<const Engine*> g_engine{nullptr};

namespace {

struct Symbol {
  enum Name : uint32_t {
    kCurrent,  // the first: it says which module is the engine
    kStackSample,
    kCodeEvents,
    kBeforeCall,
    kEmbeddedCode,
    kCodeRange,
    kLineNumber,
    kVersion,
    kNeeded,
    kKeyCreated = kNeeded,  // V8 before 11 has it
    kBytecodeHeader,
    kNewCode,  // V8 before 11: these two allocate under a lock that a stack sample takes, too
    kMovedCode,
    kCollections,
    kBeginScope,  // both, or the three after them
    kEndScope,
    kBeginSeal,
    kEndSeal,
    kDeleteExtensions,
    kBeginText,  // one of these
    kBeginTextWithOptions,
    kHeapProfiler,  // from here to the end: all, for HeapFunctions
    kHeapStart,
    kHeapStop,
    kHeapProfile,
    kEndText,
    kHeapStatistics,
    kSpaceCount,
    kSpaceStatistics,
    kContext,
    kEnvironment,
    kAtExit,
    kAtCleanup,
    kNames,
  };
};
const char* const kNamesOf[Symbol::kNames] = {
    "_ZN2v87Isolate13TryGetCurrentEv",
    "_ZN2v87Isolate14GetStackSampleERKNS_13RegisterStateEPPvmPNS_10SampleInfoE",
    "_ZN2v87Isolate22SetJitCodeEventHandlerENS_19JitCodeEventOptionsEPFvPKNS_12JitCodeEventEE",
    "_ZN2v87Isolate28AddBeforeCallEnteredCallbackEPFvPS0_E",
    "_ZN2v87Isolate20GetEmbeddedCodeRangeEPPKvPm",
    "_ZN2v87Isolate12GetCodeRangeEPPvPm",
    "_ZN2v813UnboundScript13GetLineNumberEi",
    "_ZN2v82V810GetVersionEv",
    "_ZN2v88internal7Isolate20isolate_key_created_E",
    "v8dbg_class_BytecodeArray__data__uintptr_t",
    "_ZN2v88internal18CodeObjectRegistry32RegisterNewlyAllocatedCodeObjectEm",
    "_ZN2v88internal18CodeObjectRegistry33RegisterAlreadyExistingCodeObjectEm",
    "_ZN2v87Isolate21AddGCPrologueCallbackEPFvPS0_NS_6GCTypeENS_15GCCallbackFlagsEPvES4_S2_",
    "_ZN2v811HandleScopeC1EPNS_7IsolateE",
    "_ZN2v811HandleScopeD1Ev",
    "_ZN2v815SealHandleScopeC1EPNS_7IsolateE",
    "_ZN2v815SealHandleScopeD1Ev",
    "_ZN2v811HandleScope16DeleteExtensionsEPNS_7IsolateE",
    "_ZN2v86String9Utf8ValueC1EPNS_7IsolateENS_5LocalINS_5ValueEEE",
    "_ZN2v86String9Utf8ValueC1EPNS_7IsolateENS_5LocalINS_5ValueEEENS0_12WriteOptionsE",
    "_ZN2v87Isolate15GetHeapProfilerEv",
    "_ZN2v812HeapProfiler25StartSamplingHeapProfilerEmiNS0_13SamplingFlagsE",
    "_ZN2v812HeapProfiler24StopSamplingHeapProfilerEv",
    "_ZN2v812HeapProfiler20GetAllocationProfileEv",
    "_ZN2v86String9Utf8ValueD1Ev",
    "_ZN2v87Isolate17GetHeapStatisticsEPNS_14HeapStatisticsE",
    "_ZN2v87Isolate18NumberOfHeapSpacesEv",
    "_ZN2v87Isolate22GetHeapSpaceStatisticsEPNS_19HeapSpaceStatisticsEm",
    "_ZN2v87Isolate17GetCurrentContextEv",
    "_ZN4node21GetCurrentEnvironmentEN2v85LocalINS0_7ContextEEE",
    "_ZN4node6AtExitEPNS_11EnvironmentEPFvPvES2_",
    "_ZN4node25AddEnvironmentCleanupHookEPN2v87IsolateEPFvPvES3_",
};
constexpr uint32_t kFirstVersionWithoutKey = 11;
constexpr uint32_t kFirstVersionThatMayLockAgain = 11;

// Of the calling thread.
__thread uint32_t t_suspensions MEMPROF_TLS_MODEL;

HeapFunctions heap_functions(const void* const* addresses) {
  HeapFunctions heap{};
  const bool has_scopes =
      addresses[Symbol::kBeginScope] != nullptr && addresses[Symbol::kEndScope] != nullptr;
  const bool has_seals = addresses[Symbol::kBeginSeal] != nullptr && addresses[Symbol::kEndSeal] != nullptr &&
                         addresses[Symbol::kDeleteExtensions] != nullptr;
  const Symbol::Name begin_text =
      addresses[Symbol::kBeginText] != nullptr ? Symbol::kBeginText : Symbol::kBeginTextWithOptions;
  bool has_all = (has_scopes || has_seals) && addresses[begin_text] != nullptr;
  for (uint32_t i = Symbol::kHeapProfiler; i < Symbol::kNames; ++i) {
    has_all = has_all && addresses[i] != nullptr;
  }
  if (!has_all) {
    return heap;
  }
  set_function(heap.profiler, addresses[Symbol::kHeapProfiler]);
  set_function(heap.start, addresses[Symbol::kHeapStart]);
  set_function(heap.stop, addresses[Symbol::kHeapStop]);
  set_function(heap.profile, addresses[Symbol::kHeapProfile]);
  if (has_scopes) {
    set_function(heap.begin_scope, addresses[Symbol::kBeginScope]);
    set_function(heap.end_scope, addresses[Symbol::kEndScope]);
  } else {
    set_function(heap.begin_seal, addresses[Symbol::kBeginSeal]);
    set_function(heap.end_seal, addresses[Symbol::kEndSeal]);
    set_function(heap.delete_extensions, addresses[Symbol::kDeleteExtensions]);
  }
  set_function(heap.begin_text, addresses[begin_text]);
  set_function(heap.end_text, addresses[Symbol::kEndText]);
  set_function(heap.statistics, addresses[Symbol::kHeapStatistics]);
  set_function(heap.space_count, addresses[Symbol::kSpaceCount]);
  set_function(heap.space_statistics, addresses[Symbol::kSpaceStatistics]);
  set_function(heap.context, addresses[Symbol::kContext]);
  set_function(heap.environment, addresses[Symbol::kEnvironment]);
  set_function(heap.at_exit, addresses[Symbol::kAtExit]);
  set_function(heap.at_cleanup, addresses[Symbol::kAtCleanup]);
  return heap;
}

// false: it is not an engine that we can use.
bool fill(const void* const* addresses, Engine* found) {
  for (uint32_t i = 0; i < Symbol::kNeeded; ++i) {
    if (addresses[i] == nullptr) {
      return false;
    }
  }
  set_function(found->try_get_current, addresses[Symbol::kCurrent]);
  set_function(found->get_stack_sample, addresses[Symbol::kStackSample]);
  set_function(found->set_code_event_handler, addresses[Symbol::kCodeEvents]);
  set_function(found->add_before_call_callback, addresses[Symbol::kBeforeCall]);
  set_function(found->embedded_code_range, addresses[Symbol::kEmbeddedCode]);
  set_function(found->code_range, addresses[Symbol::kCodeRange]);
  set_function(found->line_number, addresses[Symbol::kLineNumber]);
  set_function(found->get_version, addresses[Symbol::kVersion]);
  found->isolate_key_created = static_cast<const uint8_t*>(addresses[Symbol::kKeyCreated]);
  found->bytecode_header = static_cast<const int32_t*>(addresses[Symbol::kBytecodeHeader]);
  set_function(found->add_collection_callback, addresses[Symbol::kCollections]);
  found->version = parse_version(found->get_version());
  const bool may_lock_again = found->version >> 8 >= kFirstVersionThatMayLockAgain;
  found->locks[0] = may_lock_again ? 0 : reinterpret_cast<uint64_t>(addresses[Symbol::kNewCode]);
  found->locks[1] = may_lock_again ? 0 : reinterpret_cast<uint64_t>(addresses[Symbol::kMovedCode]);
  found->heap = heap_functions(addresses);
  return found->version != 0 &&
         (found->isolate_key_created != nullptr || found->version >> 8 >= kFirstVersionWithoutKey);
}

bool is_the_same(const Engine& a, const Engine& b) {
  return a.try_get_current == b.try_get_current && a.version == b.version;
}

struct Traits {
  using Found = Engine;
  // A process has one.  More are for a libnode.so that was loaded again elsewhere.
  static constexpr uint32_t kMaxFound = 4;
  static constexpr uint32_t kNames = Symbol::kNames;
  static const char* const* names() { return kNamesOf; }
  static bool fill(const void* const* addresses, Found* found) { return v8::fill(addresses, found); }
  static bool is_the_same(const Found& a, const Found& b) { return v8::is_the_same(a, b); }
  static const void* place(const Found& found) {
    return reinterpret_cast<const void*>(found.try_get_current);
  }
  static std::atomic<const Found*>& published() { return g_engine; }
  static uint32_t& suspensions() { return t_suspensions; }
};
runtimes::FoundModule<Traits> g_module;

}  // namespace

uint32_t parse_version(const char* text) {
  constexpr uint32_t kLimit = 256;
  uint32_t parts[2] = {0, 0};
  for (uint32_t& part : parts) {
    if (*text < '0' || *text > '9') {
      return 0;
    }
    for (; *text >= '0' && *text <= '9' && part < kLimit; ++text) {
      part = part * 10 + static_cast<uint32_t>(*text - '0');
    }
    text += *text == '.' ? 1 : 0;
  }
  return parts[0] < kLimit && parts[1] < kLimit ? parts[0] << 8 | parts[1] : 0;
}

const Engine* find_engine() {
  return g_module.find();
}

const Engine* find_engine_at(uint64_t address) {
  return g_module.find_at(address);
}

void suspend_engine() {
  g_module.suspend();
}

void resume_engine() {
  g_module.resume();
}

void reset_engine_in_child() {
  g_module.reset_in_child();
}

}  // namespace memprof::v8
