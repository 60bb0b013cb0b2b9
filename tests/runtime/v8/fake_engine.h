// SPDX-License-Identifier: Apache-2.0
// A V8 of tests: functions that do what the test says, in place of those of a real one.  One at a time.
#pragma once

#include <cstring>
#include <vector>

#include "runtime/v8/engine.h"

namespace memprof::v8::fakes {

struct AddedCallback {
  CollectionCallback callback;
  void* data;
  int types;
};

struct State {
  void* isolate = nullptr;
  int samples = 0;  // how often it was asked for one
  uint16_t vm_state = 0;
  std::vector<uint64_t> frames;
  JitCodeEventHandler handler = nullptr;
  std::vector<int> options;  // of each time that a handler was set
  std::vector<CallCallback> callbacks;
  std::vector<AddedCallback> collection_callbacks;
  uint64_t embedded_start = 0x500000;
  uint64_t embedded_bytes = 0x10000;
  uint64_t compiled_start = 0x2000000;
  uint64_t compiled_bytes = 0x100000;
  std::vector<std::pair<JitCodeEvent, const char*>> existing;  // told with kAllCode
};
inline State g_state;

inline const Engine kEngine = {
    [] { return g_state.isolate; },
    [](void*, const RegisterState*, uint64_t* frames, size_t max_frames, SampleInfo* info) {
      ++g_state.samples;
      info->frames_count = g_state.frames.size() < max_frames ? g_state.frames.size() : max_frames;
      info->state = g_state.vm_state;
      memcpy(frames, g_state.frames.data(), info->frames_count * sizeof(uint64_t));
    },
    [](void*, int options, JitCodeEventHandler handler) {
      g_state.handler = handler;
      g_state.options.push_back(options);
      for (size_t i = 0; options == kAllCode && i < g_state.existing.size(); ++i) {
        handler(&g_state.existing[i].first);
      }
    },
    [](void*, CallCallback callback) { g_state.callbacks.push_back(callback); },
    [](void*, const void** start, size_t* size_bytes) {
      *start = reinterpret_cast<const void*>(g_state.embedded_start);
      *size_bytes = g_state.embedded_bytes;
    },
    [](void*, void** start, size_t* size_bytes) {
      *start = reinterpret_cast<void*>(g_state.compiled_start);
      *size_bytes = g_state.compiled_bytes;
    },
    [](void*, int position) { return position / 100; },  // a line has 100 characters
    [] { return "11.3.0"; },
    [](void*, CollectionCallback callback, void* data, int types) {
      g_state.collection_callbacks.push_back({callback, data, types});
    },
    nullptr,
    nullptr,
    0x0b03,
    {0x910000, 0},
    {},
};

// While it lives the process has this engine.
class FakeEngine {
 public:
  FakeEngine() {
    g_state = {};
    g_state.isolate = &g_state;
    g_engine.store(&kEngine);
  }
  ~FakeEngine() { g_engine.store(nullptr); }
  FakeEngine(const FakeEngine&) = delete;
  FakeEngine& operator=(const FakeEngine&) = delete;
};

// As V8 collects garbage: whoever was added is told.
inline void collect(void* isolate) {
  for (const AddedCallback& added : g_state.collection_callbacks) added.callback(isolate, 1, 0, added.data);
}

inline JitCodeEvent event_of(JitCodeEvent::Type type, JitCodeEvent::CodeType code_type, uint64_t start) {
  JitCodeEvent event{};
  event.type = type;
  event.code_type = code_type;
  event.code_start = reinterpret_cast<const void*>(start);
  event.isolate = g_state.isolate;
  return event;
}

inline JitCodeEvent added(JitCodeEvent::CodeType code_type, uint64_t start, size_t size_bytes,
                          const char* name) {
  JitCodeEvent event = event_of(JitCodeEvent::kAdded, code_type, start);
  event.code_bytes = size_bytes;
  event.name = {name, strlen(name)};
  event.script = &g_state;
  return event;
}

struct Position {
  size_t offset;
  size_t position;
};

inline void tell(const JitCodeEvent& event) {
  g_state.handler(&event);
}

inline void tell_positions(uint64_t start, const std::vector<Position>& positions) {
  tell(event_of(JitCodeEvent::kLinesBegin, JitCodeEvent::kBytecode, 0));
  for (const Position& at : positions) {
    JitCodeEvent event = event_of(JitCodeEvent::kLine, JitCodeEvent::kBytecode, 0);
    event.line = {at.offset, at.position, 0};
    tell(event);
  }
  tell(event_of(JitCodeEvent::kLinesEnd, JitCodeEvent::kBytecode, start));
}

}  // namespace memprof::v8::fakes
