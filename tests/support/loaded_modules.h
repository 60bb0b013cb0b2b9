// SPDX-License-Identifier: Apache-2.0
// All modules as the loader lists them (dl_iterate_phdr): the truth for what finds them by other ways.
#pragma once

#include <link.h>

#include <cstdint>
#include <string>
#include <vector>

namespace memprof::testing_support {

struct LoadedModule {
  std::string path;
  uint64_t bias;
  std::vector<ElfW(Phdr)> headers;
};

inline std::vector<LoadedModule> loaded_modules() {
  std::vector<LoadedModule> modules;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        static_cast<std::vector<LoadedModule>*>(data)->push_back(
            {info->dlpi_name, info->dlpi_addr, {info->dlpi_phdr, info->dlpi_phdr + info->dlpi_phnum}});
        return 0;
      },
      &modules);
  return modules;
}

}  // namespace memprof::testing_support
