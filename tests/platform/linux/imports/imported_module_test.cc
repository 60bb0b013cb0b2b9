// SPDX-License-Identifier: Apache-2.0
// The verdicts over slots, for every value that a slot can hold.
#include "platform/linux/imports/imported_module.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/support/engine.h"
#include "tests/support/import_fixtures.h"

namespace memprof::imported_module_test {
namespace {

using platform::hook_address;
using platform::ImportedModule;
using platform::ImportTable;
using platform::ImportTables;
using platform::ImportTargets;
using platform::Verdict;
using testing_support::FixtureLibrary;
using testing_support::in_child;
using testing_support::with_module;

// f(table, targets, slots of malloc) for a fixture.
template <typename F>
void with_slots(const char* fixture, const F& f) {
  in_child([&] {
    const auto targets = std::make_unique<ImportTargets>();
    const auto tables = std::make_unique<ImportTables>();
    ASSERT_TRUE(targets->choose(*tables));
    const FixtureLibrary library(fixture);
    ASSERT_TRUE(with_module(library.path, [&](const dl_phdr_info& info) {
      targets->survey_changes(*tables, info.dlpi_adds, info.dlpi_subs);
      const ImportTable& table = tables->of(info);
      std::vector<ImportTable::Slot> slots;
      table.each_slot([&](const ImportTable::Slot& slot) {
        if (slot.name == interpose::kMallocHook) {
          slots.push_back(slot);
        }
      });
      ASSERT_FALSE(slots.empty());
      f(table, *targets, slots);
    }));
  });
}

TEST(ImportedModule, EachValueOfABoundSlot) {
  with_slots("now", [](const ImportTable& table, const ImportTargets& targets, const auto& slots) {
    const ImportedModule module(table, targets, false);
    const uint64_t target = targets.target(interpose::kMallocHook);
    int variables = 0;
    for (const ImportTable::Slot& slot : slots) {
      EXPECT_EQ(Verdict::kTarget, module.judge(slot, platform::load_slot(slot.address)));
      EXPECT_EQ(Verdict::kTarget, module.judge(slot, target));
      EXPECT_EQ(Verdict::kHooked, module.judge(slot, hook_address(interpose::kMallocHook)));
      if (slot.is_variable) {
        ++variables;
        for (const uint64_t value : {uint64_t{0}, target + 1, hook_address(interpose::kFreeHook)}) {
          EXPECT_EQ(Verdict::kNothing, module.judge(slot, value)) << "the program's";
        }
        continue;
      }
      EXPECT_EQ(Verdict::kForeign, module.judge(slot, target + 1));
      EXPECT_EQ(Verdict::kForeign, module.judge(slot, hook_address(interpose::kFreeHook)));
      EXPECT_EQ(Verdict::kUnrelocated, module.judge(slot, 0));
      EXPECT_EQ(Verdict::kUnrelocated, module.judge(slot, 0x1036)) << "an address in the file's code";
    }
    EXPECT_EQ(1, variables);
  });
}

TEST(ImportedModule, ALazySlotIsWhatItWillBe) {
  if (testing_support::kSanitized) {
    GTEST_SKIP() << "a sanitizer is a second allocator in the process: see the next test";
  }
  with_slots("lazy", [](const ImportTable& table, const ImportTargets& targets, const auto& slots) {
    int lazy = 0;
    for (const ImportTable::Slot& slot : slots) {
      const uint64_t value = platform::load_slot(slot.address);
      lazy += table.has_code_at(value);
      EXPECT_EQ(Verdict::kTarget, ImportedModule(table, targets, false).judge(slot, value));
    }
    EXPECT_LT(0, lazy);
  });
}

// With another definition in the process, a late library may be bound there: the loader is asked.
TEST(ImportedModule, ALazySlotOfALateLibraryIsUncertainUntilTheLoaderWasAsked) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "x86-64 only";
#endif
  in_child([] {
    const FixtureLibrary other("symbolic");
    const auto targets = std::make_unique<ImportTargets>();
    const auto tables = std::make_unique<ImportTables>();
    ASSERT_TRUE(targets->choose(*tables));
    const FixtureLibrary library("lazy");
    with_module(library.path, [&](const dl_phdr_info& info) {
      targets->survey_changes(*tables, info.dlpi_adds, info.dlpi_subs);
      const ImportTable& table = tables->of(info);
      table.each_slot([&](const ImportTable::Slot& slot) {
        const uint64_t value = platform::load_slot(slot.address);
        if (slot.name == interpose::kMallocHook && table.has_code_at(value)) {
          ImportedModule module(table, *targets, false);
          EXPECT_EQ(Verdict::kUnbound, module.judge(slot, value));
          EXPECT_EQ(Verdict::kTarget, ImportedModule(table, *targets, true).judge(slot, value));
          module.ask_loader();
          EXPECT_EQ(Verdict::kTarget, module.judge(slot, value));
        }
      });
    });
  });
}

}  // namespace
}  // namespace memprof::imported_module_test
