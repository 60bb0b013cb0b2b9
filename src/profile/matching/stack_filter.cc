// SPDX-License-Identifier: Apache-2.0
#include "profile/matching/stack_filter.h"

#include <string>

#include "profile/model/process_names.h"
#include "profile/names/allocator_frames.h"
#include "profile/names/frame_name.h"
#include "profile/names/short_name.h"

namespace memprof::profile {
namespace {

// What is asked of locations, and what was answered: a location is on many stacks.
class LocationFacts {
 public:
  LocationFacts(const Profile& profile, const StackFilter& filter)
      : profile_(profile), filter_(filter), known_(profile.locations.size()) {}

  struct Facts {
    bool is_known = false;
    bool is_allocator = false;  // all of its frames are the allocator's
    bool is_focus = false;
    bool is_ignored = false;
  };

  const Facts& at(uint32_t location) {
    Facts& facts = known_[location];
    if (!facts.is_known) find(profile_.locations[location], &facts);
    return facts;
  }

 private:
  void look_at(const std::string& text, Facts* facts) const {
    if (text.empty()) return;
    facts->is_focus = facts->is_focus || (filter_.focus && filter_.focus->is_in(text));
    facts->is_ignored = facts->is_ignored || (filter_.ignore && filter_.ignore->is_in(text));
  }

  void find(const Location& location, Facts* facts) const {
    facts->is_known = true;
    facts->is_allocator = true;
    for (const Frame& frame : location_frames(profile_, location)) {
      if (frame.is_named && is_allocator_function(frame.name)) continue;
      facts->is_allocator = false;
      look_at(frame.name, facts);
      if (frame.is_named) look_at(shown_name(frame.name, frame.symbol, frame.file), facts);
      look_at(frame.file, facts);
    }
    for (const Line& line : location.lines) {
      if (line.function >= profile_.functions.size()) continue;
      const std::string& symbol = profile_.functions[line.function].system_name;
      if (!is_allocator_function(symbol)) look_at(symbol, facts);
    }
    if (location.mapping < profile_.mappings.size()) {
      look_at(profile_.mappings[location.mapping].path, facts);
    }
  }

  const Profile& profile_;
  const StackFilter& filter_;
  std::vector<Facts> known_;
};

}  // namespace

FilterTexts filter_texts(const StackFilter& filter) {
  FilterTexts texts;
  if (filter.focus) texts.focus = filter.focus->text();
  if (filter.ignore) texts.ignore = filter.ignore->text();
  if (filter.process) texts.process = filter.process->text();
  return texts;
}

std::string process_label(const Profile& profile) {
  return process_label(profile.program, profile.pid, profile.told_apart);
}

std::vector<bool> select_stacks(const Profile& profile, const StackFilter& filter) {
  std::vector<bool> selected(profile.stacks.size(), true);
  if (filter.is_empty()) return selected;
  LocationFacts locations(profile, filter);
  const std::string only_process = process_label(profile);
  for (size_t i = 0; i < profile.stacks.size(); ++i) {
    bool is_leaf = true;
    bool has_focus = !filter.focus;
    bool is_ignored = false;
    for (const std::string* label : {&profile.stacks[i].heap, &profile.stacks[i].process}) {
      if (label->empty()) continue;
      // NOLINTNEXTLINE(bugprone-unchecked-optional-access): has_focus is true without a focus
      has_focus = has_focus || filter.focus->is_in(*label);
      is_ignored = is_ignored || (filter.ignore && filter.ignore->is_in(*label));
    }
    for (const uint32_t location : profile.stacks[i].locations) {
      const LocationFacts::Facts& facts = locations.at(location);
      if (is_leaf && facts.is_allocator) continue;
      is_leaf = false;
      has_focus = has_focus || facts.is_focus;
      is_ignored = is_ignored || facts.is_ignored;
    }
    const std::string& process = profile.stacks[i].process;
    const bool is_of_process =
        !filter.process || filter.process->is_in(process.empty() ? only_process : process);
    selected[i] = has_focus && !is_ignored && is_of_process;
  }
  return selected;
}

}  // namespace memprof::profile
