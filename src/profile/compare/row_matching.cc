// SPDX-License-Identifier: Apache-2.0
#include "profile/compare/row_matching.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <tuple>

#include "profile/names/short_name.h"

namespace memprof::profile {
namespace {

std::string last_part(const std::string& path) {
  return path.substr(path.rfind('/') + 1);  // npos + 1 is 0
}

// `libcurl.so` of `libcurl.so.4.8.0`, `libfoo` of `libfoo-2.1.so`.
std::string without_version(const std::string& module) {
  std::string name = module.substr(0, module.find(".so"));
  while (!name.empty() && (std::isdigit(static_cast<unsigned char>(name.back())) != 0 || name.back() == '.' ||
                           name.back() == '-')) {
    name.pop_back();
  }
  return name.empty() ? module : name;
}

// `cc` of "cc 4711" and "cc 4711 #2".
std::string process_name(const std::string& label) {
  std::string name = label.substr(0, label.rfind(" #"));
  const size_t space = name.rfind(' ');
  return space == std::string::npos ? name : name.substr(0, space);
}

// Of "cc 4711", for the order of processes.
uint64_t process_id(const std::string& label) {
  const std::string name = label.substr(0, label.rfind(" #"));
  const size_t space = name.rfind(' ');
  return space == std::string::npos ? 0 : std::strtoull(name.c_str() + space, nullptr, 10);
}

bool is_place(const FrameGroup& group) {
  return !group.build_id.empty();
}

// `+0x1234` of `libc.so.6+0x1234`.
std::string offset_of(const FrameGroup& group) {
  const size_t plus = group.name.rfind("+0x");
  return plus == std::string::npos ? group.name : group.name.substr(plus);
}

}  // namespace

template <typename KeyOf>
RowMatching::Open RowMatching::open_ones(const std::vector<FrameGroup>& groups, const Found& found,
                                         const KeyOf& key_of) const {
  Open open;
  std::vector<bool> is_taken(rows_.size());
  for (const uint32_t row : found) {
    if (row != kNone) is_taken[row] = true;
  }
  for (uint32_t i = 0; i < groups.size(); ++i) {
    if (found[i] != kNone) continue;
    if (Key key = key_of(groups[i]); !key.empty()) open.groups[std::move(key)].push_back(i);
  }
  for (uint32_t i = 0; i < rows_.size(); ++i) {
    if (is_taken[i]) continue;
    if (Key key = key_of(rows_[i]); !key.empty()) open.rows[std::move(key)].push_back(i);
  }
  return open;
}

template <typename KeyOf>
void RowMatching::match(const std::vector<FrameGroup>& groups, Found* found, bool in_order,
                        const KeyOf& key_of) {
  Open open = open_ones(groups, *found, key_of);
  for (auto& [key, mine] : open.groups) {
    const auto known = open.rows.find(key);
    if (known == open.rows.end()) continue;
    std::vector<uint32_t>& theirs = known->second;
    if (!in_order && (mine.size() != 1 || theirs.size() != 1)) continue;
    if (by_ == GroupBy::kProcess) {
      const auto by_id = [](const FrameGroup& a, const FrameGroup& b) {
        return std::make_pair(process_id(a.name), a.name) < std::make_pair(process_id(b.name), b.name);
      };
      std::sort(mine.begin(), mine.end(),
                [&](uint32_t a, uint32_t b) { return by_id(groups[a], groups[b]); });
      std::sort(theirs.begin(), theirs.end(),
                [&](uint32_t a, uint32_t b) { return by_id(rows_[a], rows_[b]); });
    }
    for (size_t i = 0; i < std::min(mine.size(), theirs.size()); ++i) (*found)[mine[i]] = theirs[i];
  }
}

void RowMatching::match_lines(const std::vector<FrameGroup>& groups, Found* found) {
  const auto function = [](const FrameGroup& group) {
    return is_place(group) || group.line <= 0 ? Key() : Key{group.name, last_part(group.file)};
  };
  // All lines of a function, not only those that no row has: what is equal by chance may be another line.
  const Open all = open_ones(groups, *found, function);
  for (const auto& [key, mine] : all.groups) {
    const auto known = all.rows.find(key);
    if (known == all.rows.end()) continue;
    std::map<int64_t, size_t> matches;  // by shift
    if (is_same_build(groups[mine[0]].module)) {
      matches[0] = 1;
    } else {
      for (const uint32_t group : mine) {
        for (const uint32_t row : known->second) ++matches[groups[group].line - rows_[row].line];
      }
    }
    const auto best = std::max_element(matches.begin(), matches.end(), [](const auto& a, const auto& b) {
      return std::make_pair(a.second, -std::llabs(a.first)) < std::make_pair(b.second, -std::llabs(b.first));
    });
    for (const uint32_t group : mine) {
      for (const uint32_t row : known->second) {
        if (groups[group].line - rows_[row].line == best->first) (*found)[group] = row;
      }
    }
  }
}

void RowMatching::match_versions(const Profile& profile, const std::vector<FrameGroup>& groups,
                                 Found* found) {
  match(groups, found, false, [](const FrameGroup& group) { return Key{without_version(group.name)}; });
  // The program itself.
  if (profile.mappings.empty()) return;
  const std::string program = shown_module(last_part(profile.mappings[0].path));
  match(groups, found, false, [&](const FrameGroup& group) {
    return group.name == program || programs_.count(group.name) != 0 ? Key{"program"} : Key();
  });
}

void RowMatching::learn_builds(const Profile& profile) {
  same_builds_.clear();
  std::map<std::string, std::string> own;
  for (const Mapping& mapping : profile.mappings) {
    if (!mapping.build_id.empty()) own[shown_module(last_part(mapping.path))] = mapping.build_id;
  }
  for (const auto& [module, build_id] : own) {
    const auto known = builds_.find(module);
    if (known != builds_.end() && known->second == build_id) same_builds_.insert(module);
    builds_[module] = build_id;
  }
}

std::vector<uint32_t> RowMatching::add(const Profile& profile, const std::vector<FrameGroup>& groups) {
  learn_builds(profile);
  Found found(groups.size(), kNone);
  if (by_ == GroupBy::kFunction || by_ == GroupBy::kLine) {
    match(groups, &found, false, [](const FrameGroup& group) {
      return is_place(group) ? Key{group.build_id, offset_of(group)} : Key();
    });
  }
  if (by_ == GroupBy::kLine) match_lines(groups, &found);
  if (by_ != GroupBy::kLine) {
    match(groups, &found, false, [](const FrameGroup& group) {
      return is_place(group) ? Key() : Key{group.name, group.file, group.module};
    });
  }
  if (by_ == GroupBy::kFunction) {
    const auto by = [&](const auto& rest) {
      match(groups, &found, false,
            [&](const FrameGroup& group) { return is_place(group) ? Key() : Key{group.name, rest(group)}; });
    };
    by([](const FrameGroup& group) { return last_part(group.file); });
    by([](const FrameGroup& group) { return without_version(group.module); });
    by([](const FrameGroup&) { return std::string(); });
  } else if (by_ == GroupBy::kLine) {
    // Without a line, and code that was not named on one side.
    match(groups, &found, false, [](const FrameGroup& group) {
      return is_place(group) || group.line > 0 ? Key() : Key{group.name, last_part(group.file)};
    });
  } else if (by_ == GroupBy::kFile) {
    match(groups, &found, false, [](const FrameGroup& group) { return Key{last_part(group.name)}; });
  } else if (by_ == GroupBy::kModule) {
    match_versions(profile, groups, &found);
  } else if (by_ == GroupBy::kProcess) {
    match(groups, &found, true, [](const FrameGroup& group) { return Key{process_name(group.name)}; });
  }
  if (!profile.mappings.empty()) programs_.insert(shown_module(last_part(profile.mappings[0].path)));
  for (uint32_t i = 0; i < groups.size(); ++i) {
    if (found[i] == kNone) {
      found[i] = static_cast<uint32_t>(rows_.size());
      rows_.push_back(groups[i]);
    } else {
      rows_[found[i]] = groups[i];
    }
  }
  return found;
}

}  // namespace memprof::profile
