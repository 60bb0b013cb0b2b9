// SPDX-License-Identifier: Apache-2.0
// find_other_copy of the seam.
#include <link.h>

#include "platform/linux/modules/exports.h"
#include "platform/modules.h"
#include "platform/process.h"

namespace memprof::platform {
namespace {

// What every version of memprof_stats begins with.
struct StatsBeginning {
  uint32_t struct_size;
  uint32_t state;
};
using GetStats = int (*)(StatsBeginning*);

int is_other_copy(dl_phdr_info* info, size_t, void* found) {
  const ExportTable table(*info);
  const void* const function = table.find("memprof_get_stats");
  if (function == nullptr || table.find("memprof_init") == nullptr ||
      is_in_module(*info, reinterpret_cast<uint64_t>(&is_other_copy))) {
    return 0;
  }
  StatsBeginning stats{sizeof(stats), 0};
  const auto get_stats = reinterpret_cast<GetStats>(reinterpret_cast<uint64_t>(function));
  if (get_stats(&stats) != 0 || stats.state == 0) {
    return 0;
  }
  *static_cast<const char**>(found) = info->dlpi_name[0] != '\0' ? info->dlpi_name : program_path();
  return 1;
}

}  // namespace

const char* find_other_copy() {
  const char* path = nullptr;
  dl_iterate_phdr(is_other_copy, static_cast<void*>(&path));
  return path;
}

}  // namespace memprof::platform
