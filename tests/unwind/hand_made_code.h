// SPDX-License-Identifier: Apache-2.0
// Code of x86-64 that exists only in a table, a stack that is written word by word, and both walks over it.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "platform/stack.h"
#include "tests/unwind/hand_made_tables.h"
#include "tests/unwind/hand_made_world.h"
#include "unwind/tables/rule_cache.h"
#include "unwind/walk/table_walk.h"

namespace memprof::unwind_test {

using namespace unwind;  // NOLINT(google-build-using-namespace)
using platform::Walk;

// The functions of the module: 64 bytes each, in this order.
enum Function : uint64_t {
  kFlat,        // CFA = rsp + 16
  kPushesBp,    // CFA = rsp + 24, rbp at CFA - 16
  kFramed,      // CFA = rbp + 16, rbp at CFA - 16
  kRealigned,   // CFA = *(rbp - 8), rbp at rbp
  kSpSlot,      // CFA = *(rsp + 8) + 16
  kPltEntry,    // 16-byte entries
  kTrampoline,  // signal frame
  kFirst,       // return address undefined
  kOddCfa,      // CFA = rbx + 16: needs all registers; rbx at CFA - 16
  kBadRow,      // a corrupt program
  kNotMoving,   // CFA = rsp
  kUnaligned,   // CFA = rsp + 12
  kSavesRbx,    // CFA = rsp + 24, rbx at CFA - 16
  kFunctions,
  kGap = kFunctions,  // in the module, without a table
  kElsewhere          // in no module
};

struct World : WorldOfAny {
  std::vector<uint64_t> no_call_sites;  // that are none nevertheless
};
inline World* g_world;

inline bool find_image(uint64_t address, Image* image) {
  const uint64_t n = address - g_world->tables.code(0);
  *image = g_world->image;
  return n < 64 * (kGap + 1);
}
inline bool is_call_site(uint64_t address) {
  const std::vector<uint64_t>& none = g_world->no_call_sites;
  return g_world->call_sites && std::find(none.begin(), none.end(), address) == none.end();
}
inline StackBounds find_stack(uint64_t) {
  return g_world->other_stack;
}
inline bool is_hook(uint64_t address) {
  return address - g_world->tables.code(0) < 64 * g_world->hooks_below;
}
// Of the stacks only.
inline bool read_memory(uint64_t address, void* bytes, size_t size_bytes) {
  const uint64_t first = reinterpret_cast<uint64_t>(g_world->words.data());
  if (address < first || address + size_bytes > first + sizeof(g_world->words)) {
    return false;
  }
  memcpy(bytes, reinterpret_cast<const void*>(address), size_bytes);
  return true;
}
inline constexpr Surroundings kSurroundings{find_image, is_call_site, find_stack, is_hook, read_memory};

class TableWalk : public HandMadeWorld<World> {
 protected:
  TableWalk() {
    g_world = &world_;
    const Blob programs[kFunctions] = {
        {0x0e, 16},
        {0x0e, 24, 0x86, 2},
        {0x0c, 6, 16, 0x86, 2},
        {0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0},
        {0x0f, 5, 0x77, 8, 0x06, 0x23, 16},
        {0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22},
        {},
        {0x07, 16},
        {0x0c, 3, 16, 0x83, 2},
        {0x17},
        {0x0e, 0},
        {0x0e, 12},
        {0x0e, 24, 0x83, 2},
    };
    add_functions(programs, kTrampoline, {});
  }
  ~TableWalk() override { g_world = nullptr; }

  StackBounds bounds(uint64_t low = 0, uint64_t high = 256) const { return {at(low), at(high), nullptr}; }

  Walked walk(const Start& start, const StackBounds& stack, uint32_t max_depth = 64) const {
    return walked_by_tables(start, stack, kSurroundings, max_depth);
  }
  // The same from a frame inside us: a function that leads to start by CFA = rsp + 8.
  Walked walk_full(const Start& start, const StackBounds& stack, uint64_t rbx = 0, uint32_t max_depth = 64) {
    // One frame of kFlat lies below: its return address is start.pc.
    uint64_t inside = start.sp - 16;
    memcpy(reinterpret_cast<void*>(inside + 8), &start.pc, 8);
    RegisterFile registers{};
    registers.set(kRbx, rbx);
    registers.set(kRbp, start.bp);
    registers.set(kRsp, inside);
    registers.set(kReturnAddress, in(kFlat));
    return walked_with_all_registers(registers, start.sp, stack, kSurroundings, max_depth);
  }
};

// ---- Signal frames

inline constexpr uint64_t kContextWords = 22;  // up to the pc

class SignalWalk : public TableWalk {
 protected:
  // A ucontext at the word: what the interrupted code had in its registers.
  void put_context(uint64_t word, uint64_t pc, uint64_t sp, uint64_t bp, uint64_t rbx = 0) {
    put(word, std::vector<uint64_t>(kContextWords, 0x5555));
    world_.words[word + 5 + 10] = bp;
    world_.words[word + 5 + 11] = rbx;
    world_.words[word + 5 + 15] = sp;
    world_.words[word + 5 + 16] = pc;
  }
};

}  // namespace memprof::unwind_test
