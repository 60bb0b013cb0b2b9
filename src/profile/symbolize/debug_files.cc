// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/debug_files.h"

namespace memprof::profile {
namespace {

bool belongs(const ElfFile& debug, const ElfFile& module, const ElfFile::DebugLink& link) {
  if (!module.build_id().empty() || !debug.build_id().empty()) return debug.build_id() == module.build_id();
  uint32_t crc = 0;
  return debug.checksum(&crc) && crc == link.crc;
}

}  // namespace

std::unique_ptr<ElfFile> open_debug_file(const ElfFile& module, const std::string& debug_root) {
  std::string why;
  const std::string& id = module.build_id();
  if (id.size() > 2) {
    auto debug =
        ElfFile::open(debug_root + "/.build-id/" + id.substr(0, 2) + "/" + id.substr(2) + ".debug", &why);
    if (debug != nullptr && debug->build_id() == id) return debug;
  }
  const auto link = module.debug_link();
  const size_t slash = module.path().rfind('/');
  if (!link || slash == std::string::npos) return nullptr;
  const std::string folder = module.path().substr(0, slash);
  for (const std::string& candidate : {folder + "/" + link->name, folder + "/.debug/" + link->name,
                                       debug_root + folder + "/" + link->name}) {
    if (candidate == module.path()) continue;
    auto debug = ElfFile::open(candidate, &why);
    if (debug != nullptr && belongs(*debug, module, *link)) return debug;
  }
  return nullptr;
}

}  // namespace memprof::profile
