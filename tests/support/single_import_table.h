// SPDX-License-Identifier: Apache-2.0
// The import table of one module, with room of its own.
#pragma once

#include "platform/linux/imports/import_table.h"

namespace memprof::testing_support {

class SingleImportTable : private platform::ImportTable::Room, public platform::ImportTable {
 public:
  SingleImportTable(const dl_phdr_info& module, const platform::WantedNames& wanted)
      : platform::ImportTable(module, wanted, this) {}
};

}  // namespace memprof::testing_support
