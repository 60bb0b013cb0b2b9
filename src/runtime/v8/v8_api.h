// SPDX-License-Identifier: Apache-2.0
// The structures of V8's public interface that pass between V8 and us, as v8-callbacks.h and v8-unwinder.h have
// them.  They are the same from V8 10.2 (Node 18) to 14.6 (Node 26); with larger ones no harm is done, because
// V8 writes to memory of ours that has room to spare.
//
// Threads, signals, fork: plain values.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memprof::v8 {

struct JitCodeEvent {
  enum Type : int { kAdded, kMoved, kRemoved, kLine, kLinesBegin, kLinesEnd };
  enum CodeType : int { kBytecode, kMachineCode, kWasm };
  struct Name {
    const char* text;  // without an end
    size_t size_bytes;
  };
  struct Line {
    size_t offset;    // in the code
    size_t position;  // in the script: characters before it
    int kind;
  };

  Type type;
  CodeType code_type;
  const void* code_start;  // of kLinesBegin and kLine: not set
  size_t code_bytes;       // of kAdded
  void* script;            // of kAdded: a handle of an UnboundScript, or nullptr
  void* user_data;         // not set but in events of lines
  void* wasm_source;
  union {
    Name name;          // of kAdded
    Line line;          // of kLine
    const void* moved;  // of kMoved: where it is now
  };
  void* isolate;
};
static_assert(sizeof(JitCodeEvent) == 80 && offsetof(JitCodeEvent, isolate) == 72);

struct RegisterState {
  const void* pc;
  const void* sp;
  const void* fp;
  const void* lr;
  const void* callee_saved;
  const void* spare[7];
};

// What V8 is doing in the thread.
inline constexpr uint16_t kStateGc = 1;

struct SampleInfo {
  size_t frames_count;
  const void* external_callback;
  const void* context;
  const void* embedder_context;
  uint16_t state;
  uint16_t spare_halves[3];
  const void* spare[11];
};
static_assert(offsetof(SampleInfo, state) == 32);

enum JitCodeEventOptions : int { kNewCode = 0, kAllCode = 1 };

// v8-profiler.h: what its sampler of the heap answers, a tree of calls.  A vector is three pointers in every C++ library
// that V8 is built with.
template <typename T>
struct Vector {
  const T* begin;
  const T* end;
  const T* limit;
};
struct AllocationNode {
  struct Allocation {
    size_t size;
    unsigned int count;
  };
  void* name;  // handles of strings
  void* script_name;
  int script_id;  // 0: V8's own work
  int start_position;
  int line;  // from 1; where the function begins
  int column;
  uint32_t id;
  Vector<AllocationNode*> children;
  Vector<Allocation> allocations;
};
static_assert(sizeof(AllocationNode) == 88);

// Its virtual functions, in order.
struct AllocationProfile {
  struct Functions {
    const AllocationNode* (*root)(AllocationProfile* profile);
    const void* (*samples)(AllocationProfile* profile);
    void (*destroy)(AllocationProfile* profile);
    void (*remove)(AllocationProfile* profile);  // destroys and frees
  };
  const Functions* functions;
};

// Room for objects of V8's on the stack, of which only the first words are known.
struct HandleScope {
  void* words[8];
};
// What an isolate has of its handles; from V8 14 on a layout that embedders may know (v8-internal.h).
struct HandleScopeData {
  void* next;
  void* limit;
  int level;
  int sealed_level;
};
struct SealHandleScope {
  void* isolate;
  void* limit;  // as they were before
  int sealed_level;
  void* spare[5];
};
struct Utf8Value {
  const char* text;  // nullptr: it is no string
  void* words[7];
};
struct HeapStatistics {
  size_t total_bytes;
  size_t executable_bytes;
  size_t physical_bytes;
  size_t available_bytes;
  size_t used_bytes;
  size_t limit_bytes;
  size_t malloced_bytes;
  size_t external_bytes;
  size_t spare[24];
};
struct HeapSpaceStatistics {
  const char* name;
  size_t size_bytes;
  size_t used_bytes;
  size_t available_bytes;
  size_t physical_bytes;
  size_t spare[11];
};

using JitCodeEventHandler = void (*)(const JitCodeEvent* event);
using CallCallback = void (*)(void* isolate);
// Before a collection begins: of young objects (two kinds), and of all; not of the steps of one of all.
inline constexpr int kCollectionTypes = 1 | 2 | 4;
using CollectionCallback = void (*)(void* isolate, int type, int flags, void* data);

}  // namespace memprof::v8
