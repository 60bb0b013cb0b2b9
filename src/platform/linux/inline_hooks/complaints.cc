// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/inline_hooks/complaints.h"

#include "platform/messages.h"

namespace memprof::platform {
namespace {

void (*g_listener)(const char* const*) = message;  // relaxed: each value is right

void say(const char* const* parts) {
  __atomic_load_n(&g_listener, __ATOMIC_RELAXED)(parts);
}

}  // namespace

void set_complaint_listener(void (*listener)(const char* const* parts)) {
  __atomic_store_n(&g_listener, listener, __ATOMIC_RELAXED);
}

void complain_of(const InnerHeap& heap) {
  if (heap.state.load(std::memory_order_acquire) == InnerState::kRefused) {
    if (!heap.is_known && heap.culprit == nullptr) {
      return;  // most of them are malloc's
    }
    const bool has_culprit = heap.culprit != nullptr;
    const char* const parts[] = {
        heap.name,   " is not seen: ", has_culprit ? heap.culprit : heap.reason, has_culprit ? " " : nullptr,
        heap.reason, nullptr};
    say(parts);
    return;
  }
  for (uint32_t i = 0; i < heap.site_count; ++i) {
    const HookSite& site = heap.sites[i];
    if (site.refusal != Refusal::kNone && !site.is_indirect) {
      const char* const parts[] = {
          heap.name, ": calls of ", site.name, " are not seen: it ", refusal_text(site.refusal), nullptr};
      say(parts);
    }
  }
}

void complain_of_left_out(const InnerHeap& heap) {
  for (uint32_t i = 0; i < heap.site_count; ++i) {
    const HookSite& site = heap.sites[i];
    if (site.is_left_out) {
      const char* const parts[] = {heap.name, ": calls of ", site.name,
                                   " are not seen: it gave nothing when it was tried", nullptr};
      say(parts);
    }
  }
}

void complain_of(const InnerModule& module) {
  if (module.refusal != nullptr) {
    for (uint32_t i = 0; i < module.heap_count; ++i) {
      if (module.heaps[i].reason != nullptr) {
        continue;  // it would not have been hooked anyway
      }
      const char* const parts[] = {module.heaps[i].name, " is not seen: ", module.refusal, nullptr};
      say(parts);
    }
    return;
  }
  for (uint32_t i = 0; i < module.heap_count; ++i) {
    complain_of(module.heaps[i]);
  }
}

}  // namespace memprof::platform
