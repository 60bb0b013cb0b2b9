// SPDX-License-Identifier: Apache-2.0
// The bytes of a profile, out of a file or a pipe and out of gzip, up to the first that no profile has: what has no end,
// and a small gzip file that unpacks to more than memory holds, is refused early.
//
// Threads: no state.
// Failure: throws Error "NAME: what is wrong".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "profile/files/protobuf_outline.h"
#include "profile/foreign/read_options.h"
#include "profile/model/error.h"

namespace memprof::profile {

enum class Form : unsigned char { kPprof, kForeign };  // kForeign: profile/foreign/foreign_profile.h
enum class Accept : unsigned char { kPprof, kForeignToo };

// Looks at bytes as they come, and throws at the first that no profile has.
class ByteCheck {
 public:
  ByteCheck(std::string name, uint64_t max_bytes, Accept accept)
      : name_(std::move(name)), accept_(accept), outline_(max_bytes) {}

  void take(std::string_view piece);
  // No more bytes come.  kPprof where there were none.
  Form end();

 private:
  void decide();
  void look(std::string_view piece);

  std::string name_;
  Accept accept_;
  ProtobufOutline outline_;
  std::string begin_;  // until it is known which form it is, and for messages
  bool is_decided_ = false;
  Form form_ = Form::kPprof;
  uint64_t foreign_bytes_ = 0;
};

struct ProfileBytes {
  std::string data;  // out of gzip
  Form form = Form::kPprof;
  uint64_t stored_bytes = 0;  // as they lay in the file
};

// Of data that may be gzip.
ProfileBytes unpack_profile(std::string data, const std::string& name, const ReadOptions& options,
                            Accept accept);

// All that a descriptor has, such as standard input.
ProfileBytes read_profile_bytes(int fd, const std::string& name, const ReadOptions& options, Accept accept);

ProfileBytes read_profile_bytes(const std::string& path, const ReadOptions& options, Accept accept);

// That these bytes are no profile, and what they look like.
Error no_profile(const std::string& name, std::string_view begin);

}  // namespace memprof::profile
