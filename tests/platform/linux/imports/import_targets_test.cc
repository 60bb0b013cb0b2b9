// SPDX-License-Identifier: Apache-2.0
// What the hooks go on to in this process.
#include "platform/linux/imports/import_targets.h"
#include "platform/linux/interpose/frame_tables.h"
#include "platform/linux/interpose/operators/operator_forms.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <set>
#include <string>

#include "tests/support/engine.h"
#include "tests/support/import_fixtures.h"

namespace memprof::import_targets_test {
namespace {

using interpose::g_hook_count;
using interpose::g_hooks;
using interpose::HookKind;
using platform::each_module;
using platform::hold_modules;
using platform::ImportTables;
using platform::ImportTargets;
using testing_support::FixtureLibrary;
using testing_support::in_child;
using testing_support::kSanitized;

uint64_t symbol(const char* name) {
  return reinterpret_cast<uint64_t>(dlsym(RTLD_DEFAULT, name));
}

TEST(ImportTargets, HooksHaveNamesOfTheirOwnAndTheFirstOnesAreWhereTheyAreSaidToBe) {
  EXPECT_STREQ("malloc", g_hooks[interpose::kMallocHook].name);
  EXPECT_STREQ("free", g_hooks[interpose::kFreeHook].name);
  EXPECT_STREQ("_Znwm", g_hooks[interpose::kNewHook].name);
  ASSERT_GE(platform::WantedNames::kMax, g_hook_count);
  std::set<std::string> names;
  std::set<void (*)()> hooks;
  std::set<size_t> forwards;
  size_t with_forward = 0;
  size_t frame_calls = 0;
  for (uint32_t i = 0; i < g_hook_count; ++i) {
    names.insert(g_hooks[i].name);
    hooks.insert(g_hooks[i].hook);
    EXPECT_NE(nullptr, g_hooks[i].hook) << g_hooks[i].name;
    if (g_hooks[i].kind == interpose::HookKind::kFrames) {
      EXPECT_EQ(frame_calls++, g_hooks[i].forward) << g_hooks[i].name;
    } else if (g_hooks[i].forward != interpose::kNoForward) {
      ++with_forward;
      forwards.insert(g_hooks[i].forward);
      EXPECT_LE(g_hooks[i].forward, sizeof(interpose::Forwards) - sizeof(void*));
    }
  }
  EXPECT_EQ(g_hook_count, names.size());
  EXPECT_EQ(g_hook_count - 1, hooks.size()) << "only _exit and _Exit are one";
  EXPECT_EQ(interpose::kFrameCalls, frame_calls);
  EXPECT_EQ(with_forward, forwards.size()) << "two hooks go on by one pointer";
}

TEST(ImportTargets, FormsOfOperatorsAreInTheOrderOfTheirPointers) {
  using interpose::kForms;
  using interpose::kOperatorForms;
  uint32_t forms = 0;
  for (uint32_t i = 0; i < g_hook_count; ++i) {
    const uint32_t form = interpose::operator_form(g_hooks[i].name);
    ASSERT_EQ(g_hooks[i].kind == HookKind::kOperator, form != kForms) << g_hooks[i].name;
    if (form == kForms) {
      continue;
    }
    ++forms;
    EXPECT_EQ(offsetof(interpose::Forwards, foreign) + interpose::kFirstOperator + form * sizeof(void*),
              g_hooks[i].forward)
        << g_hooks[i].name;
    // What a form calls, and all that this calls, is in its set.
    const interpose::Form next = kOperatorForms[form].next;
    if (next == kForms) {
      EXPECT_EQ(0u, kOperatorForms[form].calls) << g_hooks[i].name;
    } else {
      const interpose::FormSet wanted = kOperatorForms[next].calls | interpose::set_of(next);
      EXPECT_EQ(wanted, kOperatorForms[form].calls & wanted) << g_hooks[i].name;
    }
  }
  EXPECT_EQ(static_cast<uint32_t>(kForms), forms);
  EXPECT_EQ(static_cast<uint32_t>(kForms), interpose::operator_form("_Zn"));
  EXPECT_EQ(static_cast<uint32_t>(kForms), interpose::operator_form("_ZnwmX"));
}

TEST(ImportTargets, TheFunctionsThatTheProcessCalls) {
  in_child([] {
    const auto targets = std::make_unique<ImportTargets>();
    const auto tables = std::make_unique<ImportTables>();
    EXPECT_EQ(0u, targets->target(interpose::kMallocHook));
    ASSERT_TRUE(targets->choose(*tables));
    hold_modules(
        [&](const dl_phdr_info& info) { targets->survey_changes(*tables, info.dlpi_adds, info.dlpi_subs); });
    for (uint32_t i = 0; i < g_hook_count; ++i) {
      const std::string name = g_hooks[i].name;
      if (name == "malloc" || name == "free" || name == "calloc" || name == "realloc" || name == "dlopen" ||
          name == "dlsym" || name == "_Znwm" || name == "_ZdlPv") {
        EXPECT_EQ(symbol(name.c_str()), targets->target(i)) << name;
      } else if (symbol(name.c_str()) == 0) {
        EXPECT_EQ(0u, targets->target(i)) << name;
      }
    }
    EXPECT_EQ(symbol("malloc"), reinterpret_cast<uint64_t>(interpose::g_real.malloc));
    EXPECT_EQ(symbol("dlsym"), reinterpret_cast<uint64_t>(memprof_real_loader.dlsym));
  });
}

TEST(ImportTargets, ModulesThatCameSinceAreSurveyedOnce) {
  in_child([] {
    const auto targets = std::make_unique<ImportTargets>();
    const auto tables = std::make_unique<ImportTables>();
    ASSERT_TRUE(targets->choose(*tables));
    const auto definitions = [&] { return targets->survey().first(interpose::kMallocHook).definitions; };
    const uint32_t before = definitions();
    const uint64_t target = targets->target(interpose::kMallocHook);
    const FixtureLibrary other("symbolic");  // it defines malloc
    for (int i = 0; i < 3; ++i) {
      hold_modules([&](const dl_phdr_info& info) {
        targets->survey_changes(*tables, info.dlpi_adds, info.dlpi_subs);
      });
      EXPECT_EQ(before + 1, definitions());
      EXPECT_EQ(target, targets->target(interpose::kMallocHook));
    }
    other.close();
    hold_modules(
        [&](const dl_phdr_info& info) { targets->survey_changes(*tables, info.dlpi_adds, info.dlpi_subs); });
    EXPECT_EQ(before, definitions());
  });
}

}  // namespace
}  // namespace memprof::import_targets_test
