// SPDX-License-Identifier: Apache-2.0
#include "platform/code/code_rule.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

#include "platform/linux/modules/elf_image.h"
#include "unwind/tables/eh_frame.h"
#include "unwind/walk/call_site.h"

namespace memprof::code_rule_test {
namespace {

using platform::CodeRange;
using unwind::Rule;

std::vector<uint64_t> g_noreturns;

bool is_noreturn(uint64_t function) {
  return std::find(g_noreturns.begin(), g_noreturns.end(), function) != g_noreturns.end();
}

// "none", or the rule, of code that a call of five bytes comes before.
// `begins_with_mark`: the function at the beginning begins with an endbr64.
std::string rule_of(std::vector<uint8_t> code, bool begins_stacks = false, bool begins_with_mark = false) {
  std::vector<uint8_t> bytes(32, 0x90);  // nop
  constexpr uint8_t kMark[] = {0xf3, 0x0f, 0x1e, 0xfa};
  if (begins_with_mark) std::copy(std::begin(kMark), std::end(kMark), bytes.begin());
  bytes[27] = 0xe8;
  bytes[28] = 0;
  bytes.insert(bytes.end(), code.begin(), code.end());
  const auto start = reinterpret_cast<uint64_t>(bytes.data());
  g_noreturns = {start};  // what calls that lead to the beginning do
  Rule rule{};
  if (!platform::find_code_rule(start + 32, {start, start + bytes.size(), begins_stacks}, is_noreturn,
                                &rule)) {
    return "none";
  }
  if (rule.kind == Rule::kRoot) return "root";
  return std::string(rule.kind == Rule::kFromBp ? "bp" : "sp") + "+" + std::to_string(rule.a) +
         (rule.b != 0 ? ", bp at -" + std::to_string(rule.b) : "");
}

TEST(CodeRule, WhatIsPoppedBeforeTheReturn) {
  EXPECT_EQ("sp+2", rule_of({0x48, 0x83, 0xc4, 0x08, 0xc3}));                  // add $8,%rsp; ret
  EXPECT_EQ("sp+2, bp at -2", rule_of({0x5d, 0xc3}));                          // pop %rbp; ret
  EXPECT_EQ("sp+3, bp at -3", rule_of({0x5d, 0x41, 0x5d, 0xf3, 0xc3}));        // pop %rbp; pop %r13; rep ret
  EXPECT_EQ("sp+18", rule_of({0x48, 0x81, 0xc4, 0x80, 0, 0, 0, 0x5b, 0xc3}));  // add $128,%rsp; pop %rbx
  EXPECT_EQ("sp+18", rule_of({0x48, 0x83, 0xec, 0x80, 0x5b, 0xc2, 0, 0}));     // sub $-128,%rsp; ret $0
  EXPECT_EQ("sp+3", rule_of({0x48, 0x8d, 0x64, 0x24, 0x10, 0xc3}));            // lea 16(%rsp),%rsp
  EXPECT_EQ("sp+4, bp at -3",
            rule_of({0x48, 0x8b, 0x6c, 0x24, 0x08, 0x48, 0x83, 0xc4, 0x18, 0xc3}));  // mov 8(%rsp),%rbp
  EXPECT_EQ("sp+2", rule_of({0x6a, 0x01, 0x50, 0x48, 0x83, 0xc4, 0x18, 0xc3}));      // push $1; push %rax
}

TEST(CodeRule, ByTheFramePointer) {
  EXPECT_EQ("bp+2, bp at -2", rule_of({0xc9, 0xc3}));                    // leave
  EXPECT_EQ("bp+2, bp at -2", rule_of({0x48, 0x89, 0xec, 0x5d, 0xc3}));  // mov %rbp,%rsp; pop %rbp
  EXPECT_EQ("bp+2, bp at -2",
            rule_of({0x48, 0x8d, 0x65, 0xf0, 0x5b, 0x41, 0x5c, 0x5d, 0xc3}));  // lea -16(%rbp),%rsp
}

TEST(CodeRule, AllWaysMustSayTheSame) {
  // je over the pops of one way: 5b c3
  EXPECT_EQ("sp+2", rule_of({0x74, 0x02, 0x5b, 0xc3, 0x5b, 0xc3}));
  EXPECT_EQ("none", rule_of({0x74, 0x02, 0x5b, 0xc3, 0x5b, 0x5b, 0xc3}));
  EXPECT_EQ("none", rule_of({0x74, 0x02, 0x5b, 0xc3, 0x5d, 0xc3}));        // another register
  EXPECT_EQ("sp+2", rule_of({0x90, 0x85, 0xc0, 0x75, 0xfb, 0x5b, 0xc3}));  // a loop
  EXPECT_EQ("none", rule_of({0x50, 0x85, 0xc0, 0x75, 0xfb, 0x5b, 0xc3}));  // that pushes at each turn
  EXPECT_EQ("sp+2", rule_of({0xeb, 0x01, 0xc3, 0x5b, 0xc3}));              // jmp
  EXPECT_EQ("sp+2", rule_of({0x74, 0x02, 0x0f, 0x0b, 0x5b, 0xc3}));        // ud2 on one
}

TEST(CodeRule, AnotherFunctionInItsPlace) {
  EXPECT_EQ("sp+2", rule_of({0x5b, 0xff, 0xe0}));                    // pop %rbx; jmp *%rax
  EXPECT_EQ("none", rule_of({0xff, 0xe0}));                          // maybe a table
  EXPECT_EQ("sp+2", rule_of({0x5b, 0xe9, 0xda, 0xff, 0xff, 0xff}));  // jmp to the beginning, aligned
}

TEST(CodeRule, WhatNeverReturns) {
  const std::vector<uint8_t> ends{0xe8, 0xdb, 0xff, 0xff, 0xff};  // call of the beginning
  EXPECT_EQ("none", rule_of(ends));
  EXPECT_EQ("root", rule_of(ends, true));
  EXPECT_EQ("root", rule_of(ends, true, true));
  EXPECT_EQ("sp+2", rule_of({0x74, 0x05, 0xe8, 0xd9, 0xff, 0xff, 0xff, 0x5b, 0xc3}, true));
}

TEST(CodeRule, WhatCannotBeFollowed) {
  EXPECT_EQ("none", rule_of({}));
  EXPECT_EQ("none", rule_of({0xc3}));                                // who calls has a frame
  EXPECT_EQ("none", rule_of({0x48, 0x89, 0xdc, 0x5b, 0xc3}));        // mov %rbx,%rsp
  EXPECT_EQ("none", rule_of({0x48, 0x83, 0xe4, 0xf0, 0x5b, 0xc3}));  // and $-16,%rsp
  EXPECT_EQ("none", rule_of({0x5c, 0xc3}));                          // pop %rsp
  EXPECT_EQ("none", rule_of({0x06, 0x5b, 0xc3}));                    // no instruction
  EXPECT_EQ("none", rule_of(std::vector<uint8_t>(5000, 0x90)));
  EXPECT_EQ("none", rule_of({0x48, 0x83, 0xc4, 0x04, 0x5b, 0xc3}));  // half a word
}

// The C library's own tables are the truth: each call in its code, by both.
TEST(CodeRule, AsTheTablesSay) {
  platform::ElfImage elf;
  unwind::Image image;
  void* const inside_libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  const auto inside = reinterpret_cast<uint64_t>(dlsym(RTLD_DEFAULT, "qsort"));
  ASSERT_TRUE(platform::find_elf(inside, &elf));
  ASSERT_TRUE(platform::find_unwind_image(inside, &image));
  const ElfW(Phdr)* const segment = platform::find_segment(elf, inside);
  ASSERT_NE(nullptr, segment);
  const uint64_t start = elf.bias + segment->p_vaddr;
  const CodeRange code{start, start + segment->p_filesz, false};
  g_noreturns.clear();
  for (const char* const name : {"abort", "exit", "_exit", "__stack_chk_fail", "__chk_fail", "__assert_fail",
                                 "__fortify_fail", "longjmp", "pthread_exit", "__libc_fatal"}) {
    g_noreturns.push_back(reinterpret_cast<uint64_t>(dlsym(inside_libc, name)));
  }
  uint32_t same = 0, none = 0, other = 0, by_frame_pointer = 0;
  for (uint64_t pc = code.start + 16; pc + 16 < code.limit; ++pc) {
    const auto* const end = reinterpret_cast<const uint8_t*>(pc);
    int32_t distance;
    memcpy(&distance, end - 4, sizeof(distance));
    const uint64_t target = pc + static_cast<uint64_t>(int64_t{distance});
    unwind::Row row;
    if (end[-5] != 0xe8 || target < code.start || target >= code.limit || target % 16 != 0 ||
        unwind::find_row(image, pc - 1, &row) != unwind::Found::kYes) {
      continue;
    }
    const Rule truth = unwind::derive_rule(row);
    Rule rule{};
    if (truth.kind != Rule::kFromSp) {
      by_frame_pointer += truth.kind == Rule::kFromBp ? 1 : 0;
      continue;
    }
    if (!platform::find_code_rule(pc, code, is_noreturn, &rule)) {
      ++none;
    } else if (rule.kind == truth.kind && rule.a == truth.a && rule.b == truth.b) {
      ++same;
    } else {
      ++other;
    }
  }
  std::cout << same << " same, " << none << " none, " << other << " other\n";
  // Ubuntu 24.04 keeps frame pointers in libc: few calls are left by the stack pointer there.
  EXPECT_GT(same, by_frame_pointer > same + none + other ? 200u : 1000u);
  EXPECT_LT(other * 200, same);  // 3 of 7,756 where it was written: none may be common
}

}  // namespace
}  // namespace memprof::code_rule_test
