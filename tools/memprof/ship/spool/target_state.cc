// SPDX-License-Identifier: Apache-2.0
#include "memprof/ship/spool/target_state.h"

#include <nlohmann/json.hpp>

#include "memprof/console/console.h"
#include "memprof/console/failure.h"
#include "profile/text/markup/json_text.h"

namespace memprof::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kTargetVersion = 1;

// The counts by the names that the file has.
template <typename Counts, typename Each>
void for_each(Counts& counts, const Each& each) {
  each("accepted", counts.accepted);
  each("accepted_bytes", counts.accepted_bytes);
  each("repeats", counts.repeats);
  each("retries", counts.retries);
  each("refused", counts.refused);
  each("refused_bytes", counts.refused_bytes);
  each("expired", counts.expired);
  each("expired_bytes", counts.expired_bytes);
  each("damaged", counts.damaged);
  each("damaged_bytes", counts.damaged_bytes);
}

// Those that files of older memprofs do not have.
template <typename Counts, typename Each>
void for_each_later(Counts& counts, const Each& each) {
  each("partly", counts.partly);
  each("partly_bytes", counts.partly_bytes);
  each("rejected_profiles", counts.rejected_profiles);
}

}  // namespace

TargetState::TargetState(const std::string& path, const std::string& name, uint64_t newest)
    : file_(path), name_(name), done_(newest) {
  const std::string text = file_.read();
  if (text.empty()) {
    save();
    return;
  }
  try {
    const nlohmann::json state = profile::json_from_text(text);
    if (state.at("version").get<int>() != kTargetVersion) {
      throw Failure(path + ": is of another version of memprof; give another folder with --spool");
    }
    done_ = state.at("done").get<uint64_t>();
    attempting_ = state.at("attempting").get<uint64_t>();
    for_each(counts, [&](const char* key, auto& value) { state.at(key).get_to(value); });
    for_each_later(counts, [&](const char* key, auto& value) {
      if (state.contains(key)) state.at(key).get_to(value);
    });
  } catch (const Json::exception&) {
    throw Failure(path + ": is damaged; without it nobody knows what " + name +
                  " has: remove it to send all that waits again");
  }
}

void TargetState::begin(uint64_t sequence) {
  attempting_ = sequence;
  save();
}

void TargetState::take_back() {
  attempting_ = 0;
  save();
}

void TargetState::finish(uint64_t sequence) {
  done_ = sequence;
  attempting_ = 0;
  save();
}

void TargetState::save() {
  Json state = {{"version", kTargetVersion}, {"target", name_}, {"done", done_}, {"attempting", attempting_}};
  const auto put = [&](const char* key, const auto& value) { state[key] = value; };
  for_each(counts, put);
  for_each_later(counts, put);
  // In place, where there was room for it when the file was made.
  static_cast<void>(file_.write(profile::json_to_text(state)));
}

}  // namespace memprof::cli
