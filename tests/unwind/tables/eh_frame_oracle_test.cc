// SPDX-License-Identifier: Apache-2.0
#include "unwind/tables/eh_frame.h"

#include <dwarf.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "tests/support/engine.h"
#include "tests/unwind/hand_made_tables.h"
#include "tests/unwind/mapped_file.h"
#include "tests/unwind/tables/read_rows.h"

namespace memprof::eh_frame_test {
namespace {

using namespace unwind;       // NOLINT(google-build-using-namespace)
using namespace unwind_test;  // NOLINT(google-build-using-namespace)
using testing_support::scaled;

int register_of(uint64_t dwarf) {
  for (int r = 0; r < kRegisters; ++r) {
    if (static_cast<uint64_t>(kDwarfNumber[r]) == dwarf) {
      return r;
    }
  }
  return kRegisters;
}

// elfutils gives decoded operations: each must stand at its place in our bytes.
bool same_expression(Dwarf_Op* ops, size_t count, const Expression& e) {
  if (count == 0) {
    return false;
  }
  for (size_t i = 0; i < count; ++i) {
    if (e.start + ops[i].offset >= e.end ||
        *reinterpret_cast<const uint8_t*>(e.start + ops[i].offset) != ops[i].atom) {
      return false;
    }
  }
  // One more byte would be one more operation, or belong to the last one's numbers: small here.
  return e.end - (e.start + ops[count - 1].offset) <= 11;
}

::testing::AssertionResult same_cfa(Dwarf_Frame* frame, const Row& row) {
  Dwarf_Op* ops = nullptr;
  size_t count = 0;
  if (dwarf_frame_cfa(frame, &ops, &count) != 0 || count == 0) {
    return ::testing::AssertionFailure() << "elfutils knows no CFA";
  }
  if (count == 1 && ops[0].atom == DW_OP_bregx) {
    const bool same = row.cfa_kind == Row::kCfaRegister && row.cfa_register == register_of(ops[0].number) &&
                      row.cfa_offset == static_cast<int64_t>(ops[0].number2);
    return same ? ::testing::AssertionSuccess()
                : ::testing::AssertionFailure()
                      << "CFA = r" << ops[0].number << " + " << static_cast<int64_t>(ops[0].number2)
                      << ", not register " << int{row.cfa_register} << " + " << row.cfa_offset;
  }
  return row.cfa_kind == Row::kCfaExpression && same_expression(ops, count, row.cfa_expression)
             ? ::testing::AssertionSuccess()
             : ::testing::AssertionFailure() << "another CFA expression";
}

::testing::AssertionResult same_register(Dwarf_Frame* frame, int r, const RegisterRule& rule) {
  Dwarf_Op memory[3];
  Dwarf_Op* ops = nullptr;
  size_t count = 0;
  if (dwarf_frame_register(frame, kDwarfNumber[r], memory, &ops, &count) != 0) {
    return ::testing::AssertionFailure() << "elfutils does not know register " << kDwarfNumber[r];
  }
  const auto check = [&](bool same) {
    return same ? ::testing::AssertionSuccess()
                : ::testing::AssertionFailure()
                      << "register " << kDwarfNumber[r] << ": rule " << int{rule.kind} << ", value "
                      << rule.value << "; elfutils: " << count << " operations";
  };
  const Expression ours{static_cast<uint64_t>(rule.value), static_cast<uint64_t>(rule.value) + rule.length};
  if (count == 0) {
    // elfutils calls a register that nothing is said of undefined; what calls keep is the same then (ABI).
    return check(rule.kind == RegisterRule::kUndefined ||
                 (rule.kind == RegisterRule::kSame && (ops == nullptr || r != kReturnAddress)));
  }
  const bool is_value = ops[count - 1].atom == DW_OP_stack_value;
  const size_t used = is_value ? count - 1 : count;
  if (ops == memory && ops[0].atom == DW_OP_regx) {
    return check(rule.kind == RegisterRule::kInRegister && rule.source == register_of(ops[0].number));
  }
  if (ops == memory && ops[0].atom == DW_OP_call_frame_cfa) {
    const int64_t offset = used > 1 ? static_cast<int64_t>(ops[1].number) : 0;
    if (is_value && r == kRsp && offset == 0) {  // what the ABI says of it
      return check(rule.kind == RegisterRule::kSame);
    }
    return check(rule.kind == (is_value ? RegisterRule::kCfaPlus : RegisterRule::kAtCfa) &&
                 rule.value == offset);
  }
  // The CFA is pushed before the expression; that operation is not in its bytes.
  const size_t first = ops[0].atom == DW_OP_call_frame_cfa ? 1 : 0;
  return check(rule.kind == (is_value ? RegisterRule::kExpression : RegisterRule::kAtExpression) &&
               same_expression(ops + first, used - first, ours));
}

struct Count {
  uint64_t rows = 0;
  uint64_t without = 0;
  uint64_t wrong = 0;
};

void compare_at(const MappedFile& file, uint64_t address, Count* count, uint64_t* next) {
  Dwarf_Frame* theirs = nullptr;
  const bool known = dwarf_cfi_addrframe(file.cfi(), address, &theirs) == 0;
  const std::unique_ptr<Dwarf_Frame, void (*)(void*)> owner(theirs, free);
  Row row{};
  const Found found = find_row(file.image(), address + file.bias(), &row);
  if (!known) {
    ++count->without;
    count->wrong += found == Found::kYes ? 1 : 0;
    EXPECT_NE(Found::kYes, found) << std::hex << address << ": elfutils has no row: " << dwarf_errmsg(-1);
    *next = address + 1;
    return;
  }
  ++count->rows;
  Dwarf_Addr start = 0;
  Dwarf_Addr end = 0;
  bool is_signal = false;
  dwarf_frame_info(theirs, &start, &end, &is_signal);
  *next = end > address ? end : address + 1;
  bool right = found == Found::kYes && row.is_signal_frame == is_signal;
  EXPECT_EQ(Found::kYes, found) << std::hex << address;
  EXPECT_EQ(is_signal, row.is_signal_frame) << std::hex << address;
  if (found == Found::kYes) {
    const auto cfa = same_cfa(theirs, row);
    EXPECT_TRUE(cfa) << std::hex << address;
    right = right && cfa;
    for (int r = 0; r < kRegisters; ++r) {
      const auto same = same_register(theirs, r, row.registers[r]);
      EXPECT_TRUE(same) << std::hex << address;
      right = right && same;
    }
  }
  count->wrong += right ? 0 : 1;
}

// The first and the last address of each row of each `stride`-th function, and the byte behind the function.
Count compare_file(const MappedFile& file, uint64_t stride) {
  Count count;
  const std::vector<uint64_t> starts = file.function_starts();
  EXPECT_TRUE(std::is_sorted(starts.begin(), starts.end()));
  for (size_t i = 0; i < starts.size() && count.wrong < 10; i += stride) {
    const uint64_t limit = i + 1 < starts.size() ? starts[i + 1] : starts[i] + 64;
    for (uint64_t address = starts[i]; address < limit && count.wrong < 10;) {
      uint64_t next = 0;
      const uint64_t without = count.without;
      compare_at(file, address, &count, &next);
      if (count.without != without) {
        break;  // the gap up to the next function
      }
      uint64_t ignored = 0;
      compare_at(file, next - 1, &count, &ignored);
      address = next;
    }
  }
  return count;
}

TEST(EhFrame, EveryRowOfThisProcessIsWhatElfutilsReads) {
  uint64_t rows = 0;
  uint64_t gaps = 0;
  int files = 0;
  for (const std::string& path : files_of_this_process()) {
    const MappedFile file(path);
    if (!file.ok()) {
      continue;  // a file of data, such as locales
    }
    SCOPED_TRACE(path);
    const Count count = compare_file(file, testing_support::kSanitized ? 23 : 1);
    EXPECT_EQ(0u, count.wrong);
    ++files;
    rows += count.rows;
    gaps += count.without;
  }
  printf("%d files, %lu rows, %lu gaps\n", files, rows, gaps);
  EXPECT_GE(files, 5);  // this program, libc, libstdc++, libdw, the loader
  EXPECT_GE(rows, scaled(100000));
  EXPECT_GE(gaps, scaled(100));
}

TEST(EhFrame, RowsOfBigProgramsAreWhatElfutilsReads) {
  int files = 0;
  for (const char* path : {"/usr/bin/python3", "/usr/bin/perl", "/usr/bin/git", "/usr/bin/node",
                           "/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus", "/usr/bin/ld.bfd"}) {
    const MappedFile file(path);
    if (!file.ok()) {
      continue;
    }
    SCOPED_TRACE(path);
    const uint64_t functions = file.function_starts().size();
    const Count count = compare_file(file, 1 + functions / scaled(4000));
    EXPECT_EQ(0u, count.wrong);
    EXPECT_GT(count.rows, 0u);
    ++files;
  }
  EXPECT_GT(files, 0) << "none of the programs is installed";
}

}  // namespace
}  // namespace memprof::eh_frame_test
