// SPDX-License-Identifier: Apache-2.0
// Writes a profile as a request of OpenTelemetry's profiles signal: a Profile for each sample type, and one dictionary.
//
// Model: types of which no stack has anything are left out.  Allocations are of the profile's duration, all others of a
// moment; all have its time.  What lies in the dictionary is used by something.  Names may be any bytes, the format takes
// UTF-8: what is none becomes U+FFFD.
//
// Threads: no state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "profile/model/model.h"

namespace memprof::profile {

struct OtlpAttribute {
  std::string key;
  std::string text;
  bool is_number = false;  // the text is one
};

struct OtlpOptions {
  std::vector<OtlpAttribute> resource;
  std::string scope_version;  // of memprof
  // Of the profiles' ids, which say whose they are: the same for what is written again, and not 0 both.
  uint64_t writer_id = 0;
  uint64_t sequence = 0;
};

struct OtlpRequest {
  std::string bytes;    // ExportProfilesServiceRequest; empty: there is nothing to say
  size_t profiles = 0;  // in it
};

OtlpRequest write_otlp(const Profile& profile, const OtlpOptions& options);

}  // namespace memprof::profile
