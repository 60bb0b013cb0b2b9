// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/pe/pdb_search.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "profile/symbolize/files/windows_path.h"

namespace memprof::profile {
namespace {

constexpr size_t kGuidDigits = 32;
constexpr size_t kAgeDigits = 8;

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

// "srv*/folder*https://server;/other/folder": the folders that are paths of this system.
std::vector<std::string> folders_of(std::string_view symbol_path) {
  std::vector<std::string> folders;
  while (!symbol_path.empty()) {
    const std::string_view one = symbol_path.substr(0, symbol_path.find_first_of(";*"));
    if (one.substr(0, 1) == "/") folders.emplace_back(one);
    symbol_path.remove_prefix(std::min(one.size() + 1, symbol_path.size()));
  }
  return folders;
}

// Digits of a number that is little endian, most significant ones first, upper case.
std::string swapped(std::string_view digits) {
  std::string text;
  for (size_t at = digits.size(); at >= 2; at -= 2) text += digits.substr(at - 2, 2);
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'a' ? static_cast<char>(c - 'a' + 'A') : c; });
  return text;
}

}  // namespace

std::string symbol_store_key(const std::string& build_id) {
  const std::string_view id = build_id;
  if (id.size() != kGuidDigits + kAgeDigits) return {};
  std::string key = swapped(id.substr(0, 8)) + swapped(id.substr(8, 4)) + swapped(id.substr(12, 4));
  for (size_t at = 16; at < kGuidDigits; at += 2) key += swapped(id.substr(at, 2));
  const std::string age = swapped(id.substr(kGuidDigits));
  return key + age.substr(std::min(age.find_first_not_of('0'), age.size() - 1));
}

std::vector<std::string> pdb_candidates(const PeFile& image, const std::string& debug_root,
                                        const std::string& symbol_path) {
  std::vector<std::string> found;
  const auto add = [&](const std::string& path) {
    if (!path.empty() && std::find(found.begin(), found.end(), path) == found.end()) found.push_back(path);
  };
  const std::string& recorded = image.pdb_path();
  const std::string name = recorded.substr(recorded.find_last_of("/\\") + 1);
  if (name.empty()) return found;
  add(find_file_below(folder_of(image.file().path), name));
  if (is_windows_path(recorded)) {
    add(find_windows_file(recorded, wine_drives()));
  } else if (recorded[0] == '/') {
    add(find_file_below("/", recorded));
  }
  std::vector<std::string> folders = folders_of(symbol_path);
  folders.push_back(debug_root);
  const std::string key = symbol_store_key(image.build_id());
  for (const std::string& folder : folders) {
    const std::string stored = find_file_below(folder, name + "/" + key + "/" + name);
    // In a store the name is that of a folder.
    add(!stored.empty() ? stored : find_file_below(folder, name));
  }
  return found;
}

std::unique_ptr<PdbFile> find_pdb(const PeFile& image, const std::string& debug_root,
                                  std::vector<std::string>* warnings) {
  const char* symbol_path = std::getenv("_NT_SYMBOL_PATH");
  std::vector<std::string> refused;
  for (const std::string& path :
       pdb_candidates(image, debug_root, symbol_path != nullptr ? symbol_path : "")) {
    OpenedFile opened;
    std::string why;
    auto pdb = open_file(path, &opened, &why) ? PdbFile::of_file(std::move(opened), &why) : nullptr;
    if (pdb != nullptr && pdb->build_id() == image.build_id()) {
      // What its object files have is not here; it has public symbols all the same.
      if (!pdb->refusal().empty()) warnings->push_back(path + ": " + pdb->refusal() + "; no lines");
      return pdb;
    }
    if (pdb != nullptr) {
      why = "belongs to another build of " + image.file().path + " (GUID and age " + pdb->build_id() +
            ", not " + image.build_id() + ")";
    }
    refused.push_back(path + ": " + why + "; no lines");
  }
  warnings->insert(warnings->end(), refused.begin(), refused.end());
  return nullptr;
}

}  // namespace memprof::profile
