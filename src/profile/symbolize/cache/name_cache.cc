// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/cache/name_cache.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "format/hash.h"
#include "profile/files/system_file.h"

namespace memprof::profile {
namespace {

constexpr auto kBetweenSaves = std::chrono::seconds(10);
constexpr uint64_t kSecondNs = 1'000'000'000;
constexpr uint64_t kUsedAgainNs = 3600 * kSecondNs;  // a file that is used gets a new time after that
constexpr uint64_t kPartNs = 3600 * kSecondNs;       // whoever wrote it is gone
constexpr char kEnd[] = ".names";

bool is_older(uint64_t time_ns, uint64_t age_ns) {
  const uint64_t now = now_unix_ns();
  return time_ns < now && now - time_ns > age_ns;
}

bool can_be_kept(const std::vector<CodeNames>& names) {
  return std::all_of(names.begin(), names.end(), [](const CodeNames& one) { return one.can_be_kept; });
}

}  // namespace

NameCache::NameCache(PrivateFolder folder, std::string writer, NameCacheLimits limits)
    : folder_(std::move(folder)), writer_(std::move(writer)), limits_(limits) {}

std::vector<CodeNames> NameCache::names_of(const ObjectFile& file, const std::vector<uint64_t>& vaddrs,
                                           const NameSources& sources, std::vector<std::string>* warnings) {
  const std::optional<std::string> depend_on = file.names_depend_on(sources);
  std::vector<CodeNames> names(vaddrs.size());
  std::vector<uint64_t> unknown;
  std::vector<size_t> indices;
  const std::string key = depend_on ? writer_ + '\n' + *depend_on : "";
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    Module* const module = depend_on ? &module_of(key) : nullptr;
    for (size_t i = 0; i < vaddrs.size(); ++i) {
      if (module != nullptr && module->names.find(vaddrs[i], &names[i])) continue;
      unknown.push_back(vaddrs[i]);
      indices.push_back(i);
    }
    counts_.cached += vaddrs.size() - unknown.size();
    counts_.resolved += unknown.size();
  }
  if (unknown.empty()) return names;
  const size_t warnings_before = warnings->size();
  std::vector<CodeNames> found = file.names_of(unknown, sources, warnings);
  // Who is warned of what is missing is warned each time.
  if (depend_on && warnings->size() == warnings_before && can_be_kept(found)) keep(key, unknown, found);
  for (size_t i = 0; i < found.size(); ++i) names[indices[i]] = std::move(found[i]);
  return names;
}

std::string NameCache::file_of(const std::string& key) const {
  Fnv1a other;
  other.word(key.size());
  other.bytes(key.data(), key.size());
  return fmt::format("{:016x}{:016x}{}", hash_bytes(key.data(), key.size()), mix_hash(other.value()), kEnd);
}

NameCache::Module& NameCache::module_of(const std::string& key) {
  const auto [known, is_new] = modules_.try_emplace(key);
  Module& module = known->second;
  module.was_used = true;
  if (!is_new) return module;
  if (const auto bytes = folder_.read(file_of(key), limits_.bytes_of_file)) {
    if (auto names = KeptNames::decode(*bytes, key)) {
      module.names = std::move(*names);
      folder_.touch_if_older(file_of(key), kUsedAgainNs);
    }
  }
  return module;
}

void NameCache::keep(const std::string& key, const std::vector<uint64_t>& vaddrs,
                     const std::vector<CodeNames>& names) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Module& module = module_of(key);
  for (size_t i = 0; i < vaddrs.size() && module.names.size_bytes() < limits_.bytes_of_file / 2; ++i) {
    module.names.add(vaddrs[i], names[i]);
    ++module.unsaved;
  }
}

void NameCache::save_if_due() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (std::chrono::steady_clock::now() < next_save_) return;
  }
  save();
}

void NameCache::save() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (modules_.empty()) return;
  bool has_written = std::exchange(is_new_, false);
  for (auto known = modules_.begin(); known != modules_.end();) {
    Module& module = known->second;
    if (module.unsaved != 0) {
      save_module(known->first, &module);
      has_written = true;
    }
    // What cannot be written is not kept for ever, either.
    const bool stays = std::exchange(module.was_used, false);
    known = stays ? std::next(known) : modules_.erase(known);
  }
  if (has_written) bound_folder();
  next_save_ = std::chrono::steady_clock::now() + kBetweenSaves;
}

void NameCache::save_module(const std::string& key, Module* module) {
  // Another command may have written others meanwhile.
  const std::string name = file_of(key);
  if (const auto bytes = folder_.read(name, limits_.bytes_of_file)) {
    if (const auto there = KeptNames::decode(*bytes, key)) module->names.add_all(*there);
  }
  std::string why;
  if (folder_.write(name, module->names.encode(key), &why)) {
    module->unsaved = 0;
    problem_.clear();
    return;
  }
  problem_ = why;
  ++counts_.failures;
}

void NameCache::bound_folder() {
  std::vector<PrivateFolder::File> files = folder_.files();
  std::sort(files.begin(), files.end(),
            [](const auto& a, const auto& b) { return a.written_ns > b.written_ns; });
  uint64_t bytes = 0;
  size_t count = 0;
  for (const PrivateFolder::File& file : files) {
    const bool is_left = PrivateFolder::is_part(file.name) && is_older(file.written_ns, kPartNs);
    if (is_left || bytes + file.size_bytes > limits_.bytes || count >= limits_.files) {
      folder_.remove(file.name);
      continue;
    }
    bytes += file.size_bytes;
    ++count;
  }
  counts_.bytes = bytes;
}

NameCacheCounts NameCache::counts() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return counts_;
}

std::string NameCache::problem() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return problem_;
}

}  // namespace memprof::profile
