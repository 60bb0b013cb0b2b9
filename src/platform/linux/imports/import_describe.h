// SPDX-License-Identifier: Apache-2.0
// Slots by what their functions do, and a line for each module that has some which do not lead to the hooks.
//
// Threads: the caller keeps modules from being unloaded.
// Allocates: never.
#pragma once

#include <string.h>

#include "platform/linux/imports/import_tables.h"
#include "platform/linux/imports/import_targets.h"
#include "platform/linux/imports/imported_module.h"
#include "platform/linux/imports/text_sink.h"
#include "platform/process.h"

namespace memprof::platform {

// Of a slot of such a name: is it counted as one of an allocation function?
inline bool is_counted(const ImportTable::Slot& slot) {
  const interpose::HookKind kind = interpose::g_hooks[slot.name].kind;
  return kind == interpose::HookKind::kMemory || kind == interpose::HookKind::kOperator;
}

// Does the function take blocks back?  `name`: as in g_hooks.
inline bool is_release(uint32_t name) {
  const char* text = interpose::g_hooks[name].name;
  return strncmp(text, "free", 4) == 0 || strncmp(text, "realloc", 7) == 0 || strncmp(text, "_Zd", 3) == 0;
}

inline void describe_module(const ImportTable& table, const ImportTargets& targets, uint32_t place,
                            const char* path, TextSink& sink) {
  const ImportedModule module(table, targets, targets.survey().is_initial(place));
  uint64_t refused = 0;
  uint64_t foreign = 0;
  uint64_t unbound = 0;
  table.each_slot([&](const ImportTable::Slot& slot) {
    const Verdict verdict = module.judge(slot, load_slot(slot.address));
    refused += verdict == Verdict::kTarget && is_counted(slot);
    foreign += verdict == Verdict::kForeign;
    unbound += verdict == Verdict::kUnbound;
  });
  if (refused + foreign + unbound == 0) {
    return;
  }
  sink.add(path);
  sink.add(": refused ");
  sink.add(refused);
  sink.add(", foreign ");
  sink.add(foreign);
  sink.add(", unbound ");
  sink.add(unbound);
  sink.add("\n");
}

inline void describe_modules(ImportTables& tables, const ImportTargets& targets, TextSink& sink) {
  uint32_t place = 0;
  each_module([&](const dl_phdr_info& info) {
    const uint32_t here = place++;
    const ImportTable& table = tables.of(info);
    if (!is_this_library(table, here)) {
      describe_module(table, targets, here, here == 0 ? program_path() : info.dlpi_name, sink);
    }
    return false;
  });
}

}  // namespace memprof::platform
