// SPDX-License-Identifier: Apache-2.0
#include "memprof/ship/debuginfo/build_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "format/affixes.h"
#include "memprof/host/process/running_process.h"
#include "memprof/ship/debuginfo/build_note.h"
#include "profile/files/regular_file.h"
#include "profile/files/system_file.h"
#include "profile/symbolize/files/debug_link.h"

namespace memprof::cli {
namespace {

using profile::Links;

constexpr size_t kMaxPlaces = 4;  // of one build

std::unique_ptr<BuildFile> open_file(const std::string& path, Links links, struct stat* status) {
  const int fd = profile::open_regular_file(path, links, status);
  if (fd < 0) return nullptr;
  auto file = std::make_unique<BuildFile>(fd);
  file->size_bytes = static_cast<uint64_t>(std::max<off_t>(status->st_size, 0));
  file->written_unix_ns = profile::written_unix_ns(*status);
  file->name = path.substr(path.rfind('/') + 1);
  return file;
}

// Of a path, also of a file that was removed from it.
std::string name_of(const std::string& path) {
  return std::string(without_deleted(path.substr(path.rfind('/') + 1)));
}

}  // namespace

BuildFiles::BuildFiles(std::string debug_root, size_t max_builds)
    : debug_root_(std::move(debug_root)), max_builds_(max_builds) {}

std::unique_ptr<BuildFile> BuildFiles::open_place(Place* place) {
  const bool is_new = place->inode == 0;
  struct stat status{};
  auto file = open_file(place->mapped.exact, Links::kFollow, &status);
  const auto is_it = [&] {
    return is_new || (status.st_dev == place->device && status.st_ino == place->inode);
  };
  // The process may have ended, and another one have its id.
  if (file == nullptr || !is_it()) {
    file = open_file(place->root + place->mapped.path, Links::kRefuse, &status);
    if (file == nullptr || !is_it() || (is_new && !is_mapped_file(place->mapped, status))) return nullptr;
  }
  file->name = name_of(place->mapped.path);
  place->device = status.st_dev;
  place->inode = status.st_ino;
  place->is_of_root = status.st_uid == 0 && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0;
  return file;
}

std::unique_ptr<BuildFile> BuildFiles::open_place(const Place& place) {
  Place copy = place;
  return open_place(&copy);
}

void BuildFiles::look(const std::vector<WatchedProcess>& processes) {
  ++looks_;
  std::set<std::tuple<unsigned, unsigned, uint64_t, std::string>> read;
  for (const WatchedProcess& process : processes) {
    visit_mapped_files(process.pid, [&](const MappedFile& mapped) {
      if (!mapped.is_code || mapped.path.empty() || mapped.path[0] != '/') return false;
      Place place;
      place.mapped = mapped;
      place.root = process.root;
      if (!read.emplace(mapped.device_major, mapped.device_minor, mapped.inode, process.root + mapped.path)
               .second) {
        return false;
      }
      const auto file = open_place(&place);
      if (file == nullptr) return false;
      const std::string id = read_build_note(file->descriptor.get()).build_id;
      if (is_id_size(id.size())) add(id, place);
      return false;
    });
  }
}

void BuildFiles::add(const std::string& build_id, const Place& place) {
  const auto known = builds_.find(build_id);
  if (known == builds_.end() && builds_.size() >= max_builds_) {
    const auto oldest = std::min_element(builds_.begin(), builds_.end(), [](const auto& a, const auto& b) {
      return a.second.seen < b.second.seen;
    });
    if (oldest == builds_.end() || oldest->second.seen == looks_) return;
    builds_.erase(oldest);
  }
  Build& build = builds_[build_id];
  build.seen = looks_;
  auto& places = build.places;
  const auto same = std::find_if(places.begin(), places.end(), [&](const Place& other) {
    return other.root == place.root && other.mapped.path == place.mapped.path && other.inode == place.inode;
  });
  if (same != places.end()) {
    *same = place;
    return;
  }
  // The first one is the newest of its kind.
  const auto before = place.is_of_root ? places.begin()
                                       : std::find_if(places.begin(), places.end(),
                                                      [](const Place& other) { return !other.is_of_root; });
  places.insert(before, place);
  if (places.size() > kMaxPlaces) places.pop_back();
}

std::unique_ptr<BuildFile> BuildFiles::open_debug_file(const std::string& build_id, const Place* place,
                                                       const BuildFile* module) const {
  const std::string by_id = profile::debug_path_of_build(debug_root_, build_id);
  const auto open = [&](const std::string& root, const std::string& path, bool is_ours) {
    struct stat status{}, of_module{};
    auto file = open_file(root + path, root.empty() ? Links::kFollow : Links::kRefuse, &status);
    if (file == nullptr) return std::unique_ptr<BuildFile>();
    // A folder of others may have links to what only this user may read.
    if (!is_ours &&
        (module == nullptr || fstat(module->descriptor.get(), &of_module) != 0 ||
         status.st_uid != of_module.st_uid || (!root.empty() && status.st_dev != of_module.st_dev))) {
      return std::unique_ptr<BuildFile>();
    }
    const BuildNote note = read_build_note(file->descriptor.get());
    return note.has_names && note.build_id == build_id ? std::move(file) : nullptr;
  };
  if (place != nullptr && !place->root.empty()) {
    if (auto file = open(place->root, by_id, false)) return file;
  }
  if (auto file = open("", by_id, true)) return file;
  if (place == nullptr || module == nullptr) return nullptr;
  const BuildNote note = read_build_note(module->descriptor.get());
  if (!note.link) return nullptr;
  for (const std::string& path :
       profile::debug_link_candidates(place->mapped.path, *note.link, debug_root_)) {
    if (auto file = open(place->root, path, false)) return file;
  }
  return nullptr;
}

std::unique_ptr<BuildFile> BuildFiles::open(const BuildRequest& request, bool* is_replaced) const {
  *is_replaced = false;
  const auto known = builds_.find(request.build_id);
  if (known == builds_.end()) return nullptr;
  for (const Place& place : known->second.places) {
    auto file = open_place(place);
    if (file == nullptr) {
      *is_replaced |= !is_missing(place.root + place.mapped.path);
      continue;
    }
    const BuildNote note = read_build_note(file->descriptor.get());
    if (note.build_id != request.build_id) {
      *is_replaced = true;
      continue;
    }
    if (request.part == BuildPart::kExecutable) return file;
    if (auto debug = open_debug_file(request.build_id, &place, file.get())) return debug;
    if (note.has_names) return file;
  }
  return request.part == BuildPart::kDebuginfo ? open_debug_file(request.build_id, nullptr, nullptr)
                                               : nullptr;
}

}  // namespace memprof::cli
