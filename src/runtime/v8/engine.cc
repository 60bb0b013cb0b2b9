// SPDX-License-Identifier: Apache-2.0
#include "runtime/v8/engine.h"

#include "platform/modules.h"

namespace memprof::v8 {

std::atomic<const Engine*> g_engine{nullptr};

namespace {

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
  kNames,
};
const char* const kNamesOf[kNames] = {
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
};
constexpr uint32_t kFirstVersionWithoutKey = 11;

// A process has one.  A second place is for a libnode.so that was loaded again elsewhere: a thread may still
// read the first.
constexpr uint32_t kMostEngines = 4;
Engine g_found[kMostEngines];  // written by the one that is at it, before it is published
uint32_t g_found_count = 0;
std::atomic<bool> g_busy{false};  // acquire and release
// What g_engine is while nothing is unloaded.  Release in note(), acquire everywhere.
std::atomic<const Engine*> g_known{nullptr};
std::atomic<uint32_t> g_suspensions{0};  // sequentially consistent, with g_engine
// Those of the calling thread: a fork child has no others.
__thread uint32_t t_suspensions __attribute__((tls_model("initial-exec")));

template <typename Function>
void set(Function*& slot, const void* address) {
  slot = reinterpret_cast<Function*>(reinterpret_cast<uintptr_t>(address));
}

// false: it is not an engine that we can use.
bool fill(const void* const* addresses, Engine* found) {
  for (uint32_t i = 0; i < kNeeded; ++i) {
    if (addresses[i] == nullptr) {
      return false;
    }
  }
  set(found->try_get_current, addresses[kCurrent]);
  set(found->get_stack_sample, addresses[kStackSample]);
  set(found->set_code_event_handler, addresses[kCodeEvents]);
  set(found->add_before_call_callback, addresses[kBeforeCall]);
  set(found->embedded_code_range, addresses[kEmbeddedCode]);
  set(found->code_range, addresses[kCodeRange]);
  set(found->line_number, addresses[kLineNumber]);
  set(found->get_version, addresses[kVersion]);
  found->isolate_key_created = static_cast<const uint8_t*>(addresses[kKeyCreated]);
  found->bytecode_header = static_cast<const int32_t*>(addresses[kBytecodeHeader]);
  found->version = parse_version(found->get_version());
  return found->version != 0 &&
         (found->isolate_key_created != nullptr || found->version >> 8 >= kFirstVersionWithoutKey);
}

// Nobody is to see it between a suspension and its end: whoever comes in between takes it back, and looks
// again, because the end may have come meanwhile.
void publish(const Engine* found) {
  do {
    g_engine.store(found);
    if (g_suspensions.load() == 0) {
      return;
    }
    g_engine.store(nullptr);
  } while (g_suspensions.load() == 0);
}

bool is_the_same(const Engine& a, const Engine& b) {
  return a.try_get_current == b.try_get_current && a.version == b.version;
}

// The entry of it, made if need be; nullptr: there are too many.
const Engine* enter(const Engine& fresh) {
  for (uint32_t i = 0; i < g_found_count; ++i) {
    if (is_the_same(g_found[i], fresh)) {
      return &g_found[i];
    }
  }
  if (g_found_count == kMostEngines) {
    return nullptr;
  }
  g_found[g_found_count] = fresh;
  return &g_found[g_found_count++];
}

// nullptr also when another thread is at it: it finds what there is.
const Engine* note(const void* const* addresses) {
  Engine fresh{};
  if (!fill(addresses, &fresh) || g_busy.exchange(true, std::memory_order_acquire)) {
    return nullptr;
  }
  const Engine* known = g_known.load(std::memory_order_acquire);
  if (known == nullptr) {
    known = enter(fresh);
    g_known.store(known, std::memory_order_release);
    publish(known);
  }
  g_busy.store(false, std::memory_order_release);
  return known;
}

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
  const Engine* known = g_known.load(std::memory_order_acquire);
  const void* addresses[kNames];
  if (known == nullptr && platform::find_exports(kNamesOf, kNames, addresses)) {
    known = note(addresses);
  }
  return known;
}

const Engine* find_engine_at(uint64_t address) {
  const Engine* known = g_known.load(std::memory_order_acquire);
  const void* addresses[kNames];
  if (known == nullptr && platform::find_exports_at(address, kNamesOf, kNames, addresses)) {
    known = note(addresses);
  }
  return known;
}

void suspend_engine() {
  ++t_suspensions;
  g_suspensions.fetch_add(1);
  g_engine.store(nullptr);
}

void resume_engine() {
  const Engine* known = g_known.load(std::memory_order_acquire);
  if (known != nullptr) {
    const void* addresses[kNames];
    Engine now{};
    if (!platform::find_exports_at(reinterpret_cast<uint64_t>(known->try_get_current), kNamesOf, kNames,
                                   addresses) ||
        !fill(addresses, &now) || !is_the_same(now, *known)) {
      g_known.compare_exchange_strong(known, nullptr, std::memory_order_acq_rel);
    }
  }
  --t_suspensions;
  if (g_suspensions.fetch_sub(1) == 1) {
    publish(g_known.load(std::memory_order_acquire));
  }
}

void reset_engine_in_child() {
  g_busy.store(false, std::memory_order_release);
  if (g_suspensions.load() != t_suspensions) {
    g_suspensions.store(t_suspensions++ + 1);
    resume_engine();
  }
}

}  // namespace memprof::v8
