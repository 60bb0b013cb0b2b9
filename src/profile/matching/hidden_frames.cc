// SPDX-License-Identifier: Apache-2.0
#include "profile/matching/hidden_frames.h"

#include <string>
#include <utility>

namespace memprof::profile {

std::shared_ptr<const HiddenFrames> hidden_frames(const Pattern& pattern) {
  HiddenFrames frames;
  frames.text = pattern.text();
  frames.has = [pattern](const Frame& frame) {
    const auto matches = [&](const std::string& text) { return !text.empty() && pattern.is_in(text); };
    return matches(frame.name) || matches(frame.symbol) || matches(frame.file) || matches(frame.module) ||
           (frame.is_named && matches(shown_frame_name(frame)));
  };
  return std::make_shared<const HiddenFrames>(std::move(frames));
}

}  // namespace memprof::profile
