// SPDX-License-Identifier: Apache-2.0
// What a slot of each name must hold for a hook to take its place.
//
// Model: the process's allocations go to the first module in the loader's order that defines malloc; its
// functions are what the hooks go on to, and what slots are compared with.  The operators of C++ are the
// allocator's if it has some, or the standard library's if they end in that allocator; others are left alone,
// because they end in a malloc that is seen.
//
// Threads: one at a time.
// Allocates: never, but the loader may in choose().
#pragma once

#include <link.h>

#include <cstdint>

#include "platform/linux/imports/import_survey.h"
#include "platform/linux/imports/import_table.h"
#include "platform/linux/imports/import_tables.h"
#include "platform/linux/imports/seen_modules.h"
#include "platform/linux/interpose/hook_table.h"

namespace memprof::platform {

// visit(info) for each module, in the loader's callback; true ends it.
template <typename Visit>
void each_module(const Visit& visit) {
  dl_iterate_phdr([](dl_phdr_info* info, size_t,
                     void* context) { return (*static_cast<const Visit*>(context))(*info) ? 1 : 0; },
                  const_cast<Visit*>(&visit));
}

// visit(first module) once.  In it, each_module sees the same list every time: the loader's lock is one that
// its holder may take again.
template <typename Visit>
void hold_modules(const Visit& visit) {
  each_module([&](const dl_phdr_info& first) {
    visit(first);
    return true;
  });
}

// The library that this code is in, if it is one: the executable is patched like everybody.
bool is_this_library(const ImportTable& table, uint32_t place);

class ImportTargets {
 public:
  // Chooses once, and lets the hooks forward there.  false: calls of the process's malloc cannot be seen (it is the
  // executable's own).  Asks the loader: not while it is held.
  bool choose(ImportTables& tables);

  // Who defines what: of the modules that came since the last time, or of all if one has gone.  While the
  // loader is held; `adds` and `subs` are what it says of loads and unloads.
  void survey_changes(ImportTables& tables, uint64_t adds, uint64_t subs);

  // 0: slots of this name stay.
  uint64_t target(uint32_t name) const { return target_[name]; }
  const ImportSurvey& survey() const { return survey_; }
  bool is_allocator(const ImportTable& table) const { return table.contains(allocator_); }

 private:
  void survey_all(ImportTables& tables);
  void survey_new(ImportTables& tables);
  void choose_operators(ImportTables& tables);
  void choose_frame_calls();

  uint64_t target_[WantedNames::kMax] = {};
  uint64_t allocator_ = 0;      // an address in it
  bool has_operators_ = false;  // the allocator's own
  ImportSurvey survey_;
  SeenModules surveyed_;
  uint64_t adds_ = 0;
  uint64_t subs_ = 0;
};

}  // namespace memprof::platform
