// SPDX-License-Identifier: Apache-2.0
// A program in the toy language: main calls fill, which calls a native function, which runs leaf, which
// allocates by a native function.
#pragma once

#include "memprof.h"
#include "tests/runtime/toy/toy.h"

namespace toy {

using Operation = Instruction::Operation;

inline char g_block[64];

[[gnu::noinline]] inline void allocate() {
  memprof_report_alloc(g_block, sizeof(g_block), 0);
  asm volatile("" ::: "memory");  // no tail call: its frame stays
}

inline const Function kLeaf{
    "leaf", "inner.toy", 40, {{Operation::kNative, nullptr, allocate}, {Operation::kReturn}}, {2, 3}};

[[gnu::noinline]] inline void run_leaf() {
  run(kLeaf);
  asm volatile("" ::: "memory");
}

inline const Function kFill{
    "fill",
    "outer.toy",
    20,
    {{Operation::kNative, nullptr, [] {}}, {Operation::kNative, nullptr, run_leaf}, {Operation::kReturn}},
    {1, 5, 6}};
inline const Function kMain{
    "main", "outer.toy", 1, {{Operation::kCall, &kFill}, {Operation::kReturn}}, {1, 2}};

}  // namespace toy
