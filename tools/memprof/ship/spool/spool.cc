// SPDX-License-Identifier: Apache-2.0
#include "memprof/ship/spool/spool.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <system_error>
#include <utility>

#include "memprof/console/console.h"
#include "memprof/console/failure.h"
#include "profile/files/atomic_file.h"
#include "profile/model/error.h"
#include "profile/text/markup/json_text.h"

namespace memprof::cli {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int kVersion = 1;
constexpr char kStateFile[] = "/spool.state";

// The folder with those in it; and nothing of others.
std::string made(const std::string& folder) {
  std::error_code error;
  if (fs::exists(folder, error) && !fs::is_directory(folder, error)) {
    throw Failure(folder + ": is no folder; give one with --spool");
  }
  if (!fs::exists(folder + kStateFile, error) && fs::is_directory(folder, error) &&
      !fs::is_empty(folder, error)) {
    throw Failure(folder + ": is no spool of memprof, and is not empty; give another folder with --spool");
  }
  for (const char* below : {"", "/looks", "/baselines", "/targets"}) {
    fs::create_directories(folder + below, error);
    if (error) throw Failure(folder + ": cannot make the spool: " + error_text(error.value()));
  }
  fs::permissions(folder, fs::perms::owner_all, error);
  return folder;
}

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw profile::Error(path + ": cannot read it");
  return {std::istreambuf_iterator<char>(file), {}};
}

// 0: it is no number.
uint64_t number_of(const std::string& text) {
  if (text.empty() || text.find_first_not_of("0123456789") != std::string::npos || text.size() > 18) return 0;
  return std::stoull(text);
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    names.push_back(entry->path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

void remove_quietly(const std::string& path) {
  std::error_code error;
  fs::remove(path, error);
}

}  // namespace

std::string encode(const Look& look) {
  const Json head = {{"version", kVersion},
                     {"sequence", look.sequence},
                     {"time_ms", look.time_ms},
                     {"labels", look.labels},
                     {"alloc_objects", look.allocated.objects},
                     {"alloc_bytes", look.allocated.bytes},
                     {"size", look.pprof.size()}};
  return profile::json_to_text(head) + '\n' + look.pprof;
}

Look decode_look(std::string bytes, const std::string& name) {
  const size_t line = bytes.find('\n');
  if (line == std::string::npos) throw profile::Error(name + ": is damaged: it has no first line");
  try {
    const nlohmann::json head = profile::json_from_text(bytes.substr(0, line));
    if (head.at("version").get<int>() != kVersion)
      throw profile::Error(name + ": is of another version of memprof");
    Look look;
    look.sequence = head.at("sequence").get<uint64_t>();
    look.time_ms = head.at("time_ms").get<int64_t>();
    look.labels = head.at("labels").get<Labels>();
    look.allocated = {head.at("alloc_objects").get<int64_t>(), head.at("alloc_bytes").get<int64_t>()};
    bytes.erase(0, line + 1);
    if (bytes.size() != head.at("size").get<size_t>())
      throw profile::Error(name + ": is damaged: it is cut off");
    look.pprof = std::move(bytes);
    return look;
  } catch (const Json::exception&) {
    throw profile::Error(name + ": is damaged: its first line is not what memprof writes");
  }
}

Spool::Spool(const std::string& folder, uint64_t max_bytes)
    : folder_(made(folder)), max_bytes_(max_bytes), state_(folder_ + kStateFile) {
  open_state();
  load();
}

void Spool::open_state() {
  if (!state_.lock()) {
    throw Failure(folder_ +
                  ": another memprof ship uses this spool; end it, or give another folder with --spool");
  }
  const std::string text = state_.read();
  if (text.empty()) {
    std::random_device random;
    id_ = fmt::format("{:08x}{:08x}", random(), random());
    save_state();
    return;
  }
  try {
    const nlohmann::json state = profile::json_from_text(text);
    if (const auto version = state.at("version").get<int>(); version != kVersion) {
      throw Failure(
          fmt::format("{}: the spool is of another memprof (version {} of spools, this one has {}): let that "
                      "one send what is in it, or give another folder with --spool",
                      folder_, version, kVersion));
    }
    id_ = state.at("id").get<std::string>();
    clock_.last_ms = state.at("last_ms").get<int64_t>();
    clock_.turned_back = state.at("turned_back").get<uint32_t>();
    next_sequence_ = state.at("next").get<uint64_t>();
  } catch (const Json::exception&) {
    throw Failure(
        state_.path() +
        ": is damaged; give another folder with --spool, or remove this one, with what waits in it");
  }
}

// Where the disk does not take it, the next one will: names of files say the sequence, too.
void Spool::save_state() {
  const Json state = {{"version", kVersion},
                      {"id", id_},
                      {"last_ms", clock_.last_ms},
                      {"turned_back", clock_.turned_back},
                      {"next", next_sequence_}};
  static_cast<void>(state_.write(profile::json_to_text(state)));
}

void Spool::load() {
  std::set<uint64_t> there;
  for (const std::string& name : names_in(folder_ + "/looks")) {
    const std::string path = folder_ + "/looks/" + name;
    const uint64_t sequence = number_of(name);
    if (sequence == 0) {
      remove_quietly(path);  // a file that was being written
      continue;
    }
    next_sequence_ = std::max(next_sequence_, sequence + 1);
    there.insert(sequence);
    try {
      const std::string bytes = content_of(path);
      const Look look = decode_look(bytes, path);
      waiting_.push_back({sequence, look.time_ms, look.allocated.bytes});
      bytes_ += bytes.size();
    } catch (const profile::Error& error) {
      complain(std::string(error.what()) + "; it is left out");
      ++damaged_;
      remove_quietly(path);
    }
  }
  for (const std::string& name : names_in(folder_ + "/baselines")) {
    const size_t dot = name.find('.');
    const std::string labels = name.substr(0, dot);
    const std::string end = dot == std::string::npos ? "" : name.substr(dot + 1);
    if (end.empty() || end.find_first_not_of("0123456789") != std::string::npos) {
      remove_quietly(folder_ + "/baselines/" + name);
      continue;
    }
    // The names are in order, and so are their numbers, which have zeros in front.
    const uint64_t sequence = number_of(end);
    next_sequence_ = std::max(next_sequence_, sequence + 1);
    const auto known = newest_.find(labels);
    if (known == newest_.end()) {
      newest_[labels] = sequence;
      continue;
    }
    const bool is_true = there.count(sequence) != 0;
    remove_quietly(baseline_path(labels, is_true ? known->second : sequence));
    if (is_true) known->second = sequence;
  }
  std::map<std::string, uint64_t> newest_of;
  for (const auto& [labels, sequence] : newest_) {
    const std::string path = baseline_path(labels, sequence);
    const auto baseline = decode_baseline(content_of(path));
    if (!baseline) {
      throw Failure(path + ": is damaged, or of another version; give another folder with --spool");
    }
    for (const auto& [arena, totals] : baseline->processes) {
      uint64_t& newest = newest_of[arena];
      if (where_.count(arena) != 0 && newest >= sequence) continue;
      newest = sequence;
      where_[arena] = labels;
    }
  }
}

std::string Spool::look_path(uint64_t sequence) const {
  return fmt::format("{}/looks/{:018}", folder_, sequence);
}

std::string Spool::baseline_path(const std::string& labels, uint64_t sequence) const {
  return fmt::format("{}/baselines/{}.{:018}", folder_, labels, sequence);
}

int64_t Spool::next_time(int64_t now_ms) {
  const int64_t time = clock_.next(now_ms);
  save_state();
  return time;
}

StackTotals Spool::totals_of(const std::string& arena) const {
  const auto where = where_.find(arena);
  if (where == where_.end()) return {};
  return std::move(baseline_of(where->second).processes[arena]);
}

Baseline Spool::baseline_of(const std::string& labels) const {
  const auto known = newest_.find(labels);
  if (known == newest_.end()) return {};
  const std::string path = baseline_path(labels, known->second);
  auto baseline = decode_baseline(content_of(path));
  if (!baseline) throw profile::Error(path + ": is damaged");
  return std::move(*baseline);
}

size_t Spool::forget_but(const std::vector<std::string>& present) {
  size_t forgotten = 0;
  std::set<std::string> used;
  for (auto known = where_.begin(); known != where_.end();) {
    if (std::find(present.begin(), present.end(), known->first) == present.end()) {
      known = where_.erase(known);
      ++forgotten;
      continue;
    }
    used.insert(known->second);
    ++known;
  }
  for (auto known = newest_.begin(); known != newest_.end();) {
    if (used.count(known->first) != 0) {
      ++known;
      continue;
    }
    remove_quietly(baseline_path(known->first, known->second));
    known = newest_.erase(known);
  }
  return forgotten;
}

QueuedLook Spool::commit(const std::string& labels, const Baseline& baseline, Look look) {
  using profile::IfExists;
  look.sequence = next_sequence_++;
  save_state();
  const auto known = newest_.find(labels);
  // So that there are always two until the look is there.
  const uint64_t before = known == newest_.end() ? 0 : known->second;
  if (known == newest_.end()) {
    profile::write_file_atomically(baseline_path(labels, 0), encode(Baseline()), IfExists::kReplace);
  }
  const std::string path = baseline_path(labels, look.sequence);
  const std::string bytes = encode(look);
  try {
    profile::write_file_atomically(path, encode(baseline), IfExists::kReplace);
    profile::write_file_atomically(look_path(look.sequence), bytes, IfExists::kRefuse);
  } catch (const profile::Error&) {
    remove_quietly(path);
    if (known == newest_.end()) remove_quietly(baseline_path(labels, 0));
    throw;
  }
  remove_quietly(baseline_path(labels, before));
  newest_[labels] = look.sequence;
  for (auto at = where_.begin(); at != where_.end();)
    at = at->second == labels ? where_.erase(at) : std::next(at);
  for (const auto& [arena, totals] : baseline.processes) where_[arena] = labels;
  bytes_ += bytes.size();
  return {look.sequence, look.time_ms, look.allocated.bytes};
}

Look Spool::read(uint64_t sequence) const {
  const std::string path = look_path(sequence);
  return decode_look(content_of(path), path);
}

void Spool::remove(uint64_t sequence) {
  const std::string path = look_path(sequence);
  std::error_code error;
  const uintmax_t size = fs::file_size(path, error);
  if (!error && fs::remove(path, error)) bytes_ -= size;
}

}  // namespace memprof::cli
