// SPDX-License-Identifier: Apache-2.0
#include "profile/page/page_frames.h"

#include <algorithm>

#include "profile/names/allocator_frames.h"
#include "profile/names/frame_grouping.h"
#include "profile/names/short_name.h"

namespace memprof::profile {

uint32_t PageTexts::index_of(const std::string& text) {
  const auto [known, is_new] = index_.emplace(text, static_cast<uint32_t>(texts_.size()));
  if (is_new) texts_.push_back(&known->first);
  return known->second;
}

uint32_t PageFrames::site_of(const PageSite& site) {
  const auto [known, is_new] = site_index_.emplace(site, static_cast<uint32_t>(sites_.size()));
  if (is_new) sites_.push_back(site);
  return known->second;
}

PageSite PageFrames::frame_of(const Frame& frame, const std::string& path, bool is_forwarder) {
  PageFrame own;
  own.name = texts_.index_of(frame.name);
  own.symbol = texts_.index_of(frame.symbol);
  own.file = texts_.index_of(frame.file);
  own.module = texts_.index_of(frame.module);
  own.path = texts_.index_of(path);
  own.line = frame.line;
  const uint32_t kind = (frame.is_named ? kIsNamed : 0) | (frame.is_executed ? kIsExecuted : 0);
  constexpr auto kWrapper = static_cast<uint32_t>(FrameRole::kWrapper);
  const auto [known, is_new] =
      function_index_.emplace(FunctionKey(own.name, own.symbol, own.file, own.module, kind), Function());
  Function& function = known->second;
  if (is_new) {
    function.shown = texts_.index_of(shown_frame_name(frame));
    function.shown_module = texts_.index_of(shown_module(frame.module));
    function.package = texts_.index_of(installed_package(frame));
    function.flags = kind | (has_known_package(frame) ? kPackageIsKnown : 0) |
                     (frame.is_named && is_allocator_function(frame.name) ? kNameIsAllocator : 0) |
                     (is_allocator_function(frame.symbol) ? kSymbolIsAllocator : 0);
    function.role = static_cast<uint32_t>(frame_role(frame));
  }
  own.shown = function.shown;
  own.shown_module = function.shown_module;
  own.package = function.package;
  own.flags = function.flags;
  const auto [place, is_new_frame] = frame_index_.emplace(own, static_cast<uint32_t>(frames_.size()));
  if (is_new_frame) frames_.push_back(own);
  return {place->second, is_forwarder ? kWrapper : function.role};
}

ProfileFrames::ProfileFrames(const Profile& profile, PageFrames* frames)
    : profile_(profile),
      frames_(*frames),
      forwarders_(find_forwarders(profile)),
      interpreter_(profile),
      allocators_(profile),
      at_location_(profile.locations.size()) {}

const std::vector<PageSite>& ProfileFrames::at(uint32_t location) {
  std::vector<PageSite>& known = at_location_[location];
  if (known.empty()) {
    const Location& own = profile_.locations[location];
    const std::string path =
        own.mapping < profile_.mappings.size() ? profile_.mappings[own.mapping].path : std::string();
    for (const Frame& frame : location_frames(profile_, own)) {
      known.push_back(frames_.frame_of(frame, path, forwarders_.has(frame)));
    }
  }
  return known;
}

std::vector<uint32_t> ProfileFrames::root_first(const Stack& stack) {
  std::vector<uint32_t> sites;
  const size_t python_end = interpreter_.executed_end(stack);
  interpreter_.mark_called(stack, &is_called_);
  const size_t allocator_end = allocators_.of(stack);
  bool was_start = false;
  bool is_whole = true;  // nothing was left out yet
  for (size_t place = 0; place < stack.locations.size(); ++place) {
    const bool is_of_interpreter = interpreter_.is_interpreter(stack, place);
    const bool is_interpreter = python_end != 0 && is_of_interpreter;
    const bool is_start =
        is_whole && !was_start && place >= python_end && interpreter_.starts_python(stack, place);
    for (PageSite site : at(stack.locations[place])) {
      is_whole = is_whole && site.role != static_cast<uint32_t>(FrameRole::kGap);
      if (site.role == static_cast<uint32_t>(FrameRole::kOwn) && is_called_[place]) site.role = kCalledRole;
      if (site.role == static_cast<uint32_t>(FrameRole::kNameless) && place >= python_end) {
        site.role = static_cast<uint32_t>(FrameRole::kOwn);
      }
      if (place < allocator_end) site.role = static_cast<uint32_t>(FrameRole::kWrapper);
      site.role |= is_interpreter ? kIsInterpreter : 0;
      site.role |= is_start ? kStartsInterpreter : was_start && is_of_interpreter ? kCallsStart : 0;
      sites.push_back(frames_.site_of(site));
    }
    was_start = was_start || is_start;
  }
  if (sites.empty()) {
    Frame nowhere;
    nowhere.name = kUnknownGroup;
    PageSite site = frames_.frame_of(nowhere, "", false);
    site.role = static_cast<uint32_t>(FrameRole::kOwn);
    sites.push_back(frames_.site_of(site));
  }
  std::reverse(sites.begin(), sites.end());
  return sites;
}

}  // namespace memprof::profile
