// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/elf/debug_files.h"

#include <filesystem>
#include <system_error>
#include <utility>

namespace memprof::profile {
namespace {

bool belongs(const ElfFile& debug, const ElfFile& module, const DebugLink& link) {
  if (!module.build_id().empty() || !debug.build_id().empty()) return debug.build_id() == module.build_id();
  return debug.checksum() == link.crc;
}

// nullptr: it is not there, or has another build id.
std::unique_ptr<ElfFile> open_build(const std::string& path, const std::string& id) {
  std::string why;
  auto file = ElfFile::open(path, &why);
  return file != nullptr && file->build_id() == id ? std::move(file) : nullptr;
}

std::unique_ptr<ElfFile> open_by_build_id(const std::string& id, const std::string& debug_root) {
  if (id.size() <= 2) return nullptr;
  return open_build(debug_path_of_build(debug_root, id), id);
}

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

}  // namespace

std::unique_ptr<ElfFile> open_debug_file(const ElfFile& module, const std::string& debug_root) {
  std::string why;
  if (auto debug = open_by_build_id(module.build_id(), debug_root)) return debug;
  const auto link = module.debug_link();
  if (!link) return nullptr;
  for (const std::string& candidate : debug_link_candidates(module.path(), *link, debug_root)) {
    auto debug = ElfFile::open(candidate, &why);
    if (debug != nullptr && belongs(*debug, module, *link)) return debug;
  }
  return nullptr;
}

std::unique_ptr<ElfFile> open_alternate_file(const ElfFile& debug, const ElfFile::AlternateLink& link,
                                             const std::string& debug_root) {
  std::error_code error;
  // The path leads from where the debug file really is, not from a link in .build-id.
  const std::string real = std::filesystem::canonical(debug.path(), error).string();
  const std::string folder = folder_of(error ? debug.path() : real);
  auto file = open_build(link.path[0] == '/' ? link.path : folder + "/" + link.path, link.build_id);
  return file != nullptr ? std::move(file) : open_by_build_id(link.build_id, debug_root);
}

std::unique_ptr<ElfFile> open_from_server(const std::string& build_id, const NameSources& sources) {
  const std::string path = sources.from_server ? sources.from_server(build_id) : "";
  return path.empty() ? nullptr : open_build(path, build_id);
}

}  // namespace memprof::profile
