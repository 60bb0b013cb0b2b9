// SPDX-License-Identifier: Apache-2.0
// Any bytes as the unwind tables of a module: the row, the rule and all expressions of addresses in it; and
// walks through its code, over a stack and registers that are part of the input.
//
// Input: offset of .eh_frame_hdr in the module (4 bytes), seven registers (8 bytes each: an offset into the
// stack if small), sixteen words of the stack (the same), then the module.  Tables are relative, so they mean
// the same wherever the module is put.  Corpus: corpus/eh_frame, made from objects of two compilers.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <memory>

#include "unwind/tables/eh_frame.h"
#include "unwind/tables/expression.h"
#include "unwind/tables/rule.h"
#include "unwind/tables/rule_cache.h"
#include "unwind/walk/table_walk.h"

namespace {

using namespace memprof::unwind;  // NOLINT(google-build-using-namespace)

constexpr size_t kRegisterWords = 7;
constexpr size_t kInputStackWords = 16;
constexpr size_t kStackWords = 256;
constexpr size_t kPrefix = 4 + 8 * (kRegisterWords + kInputStackWords);
constexpr uint32_t kMaxFrames = 64;
constexpr uint64_t kCodeBytes = 1 << 24;  // before and behind the module; there is none, and nothing reads it

Image g_image;
uint64_t g_stack[kStackWords];

uint64_t stack_low() {
  return reinterpret_cast<uint64_t>(g_stack);
}

StackBounds stack_of(uint64_t) {
  return {stack_low(), stack_low() + sizeof(g_stack), nullptr};
}

bool find_image(uint64_t address, Image* image) {
  *image = g_image;
  return address - (g_image.readable_low - kCodeBytes) < 2 * kCodeBytes;
}

// Words of the input: small ones are places of the stack, or of the code.
uint64_t place(uint64_t word) {
  if (word < 8 * kStackWords) {
    return stack_low() + word;
  }
  return word < uint64_t{1} << 20 ? g_image.readable_low - 8192 + (word - 8 * kStackWords) : word;
}

void check_rows(const RegisterFile& registers, uint64_t address) {
  Row row{};
  if (find_row(g_image, address, &row) != Found::kYes) {
    return;
  }
  const Rule rule = derive_rule(row);
  const Rule again = unpack(pack(rule));
  if (again.kind != rule.kind || again.a != rule.a || again.b != rule.b) {
    abort();
  }
  StackMemory stack(stack_of(0));
  uint64_t value = 0;
  if (row.cfa_kind == Row::kCfaExpression) {
    evaluate(row.cfa_expression, registers, stack, false, 0, &value);
  }
  for (const RegisterRule& r : row.registers) {
    if (r.kind == RegisterRule::kAtExpression || r.kind == RegisterRule::kExpression) {
      const uint64_t start = static_cast<uint64_t>(r.value);
      evaluate({start, start + r.length}, registers, stack, true, stack_low(), &value);
    }
  }
}

void check_walks(const RegisterFile& registers, uint64_t address) {
  const Surroundings surroundings{find_image, [](uint64_t) { return true; }, stack_of,
                                  [](uint64_t) { return false; }};
  uint64_t frames[kMaxFrames];
  bool needs_all = false;
  const Start start{address + 1, registers.values[kRsp], registers.values[kRbp]};
  for (int round = 0; round < 2; ++round) {  // the second finds the rules in the cache
    const auto result = walk_by_tables(start, stack_of(0), surroundings, frames, kMaxFrames, &needs_all);
    if (result.depth > kMaxFrames) {
      abort();
    }
  }
  RegisterFile all = registers;
  all.set(kReturnAddress, address + 1);
  const auto result =
      walk_with_all_registers(all, registers.values[kRsp], stack_of(0), surroundings, frames, kMaxFrames);
  if (result.depth > kMaxFrames) {
    abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size <= kPrefix) {
    return 0;
  }
  // A copy of just that size: AddressSanitizer sees a read of one byte too many.
  const size_t module_size = size - kPrefix;
  const std::unique_ptr<uint8_t[]> module(new uint8_t[module_size]);
  memcpy(module.get(), data + kPrefix, module_size);
  const uint64_t low = reinterpret_cast<uint64_t>(module.get());
  uint32_t index_offset;
  memcpy(&index_offset, data, 4);
  g_image = {low + index_offset % module_size, low, low + module_size};

  g_rule_cache.begin_unload();  // what was there before was of another module
  g_rule_cache.end_unload();
  uint64_t words[kRegisterWords + kInputStackWords];
  memcpy(words, data + 4, sizeof(words));
  RegisterFile registers{};
  for (uint8_t r = 0; r < kRegisterWords; ++r) {
    registers.set(r, place(words[r]));
  }
  registers.set(kRsp, stack_low() + words[kRsp] % (8 * kStackWords) / 8 * 8);
  for (size_t i = 0; i < kStackWords; ++i) {
    g_stack[i] = place(words[kRegisterWords + i % kInputStackWords]);
  }

  // The starts of the functions that the index names, and places inside them; and any address.
  const uint64_t table = g_image.index + 12;
  for (uint64_t i = 0; i < 64 && table + 8 * i + 4 <= g_image.readable_high; ++i) {
    int32_t start;
    memcpy(&start, reinterpret_cast<const void*>(table + 8 * i), 4);
    const uint64_t function = g_image.index + static_cast<uint64_t>(int64_t{start});
    for (const uint64_t offset : {0, 1, 4, 20, 100}) {
      check_rows(registers, function + offset);
    }
    if (i < 4) {
      check_walks(registers, function + 4);
    }
  }
  check_rows(registers, words[0]);
  return 0;
}
