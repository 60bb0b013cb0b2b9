// SPDX-License-Identifier: Apache-2.0
// Where the values of a profile come from that no program has written: a comment for people, which files keep.
//
// Threads: no state.
#pragma once

#include <string>

#include "profile/model/model.h"

namespace memprof::profile {

inline constexpr char kOriginComment[] = "memprof: the values are ";

// `text` continues "the values are ...".
inline void set_origin(const std::string& text, Profile* profile) {
  profile->comments.push_back(kOriginComment + text);
}

// Empty: nothing is said of it.
inline std::string origin_of(const Profile& profile) {
  constexpr size_t kLength = sizeof(kOriginComment) - 1;
  for (const std::string& comment : profile.comments) {
    if (comment.rfind(kOriginComment, 0) == 0) return comment.substr(kLength);
  }
  return "";
}

}  // namespace memprof::profile
