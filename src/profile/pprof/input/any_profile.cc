// SPDX-License-Identifier: Apache-2.0
#include "profile/pprof/input/any_profile.h"

#include <utility>

#include "profile/foreign/foreign_profile.h"
#include "profile/foreign/profile_bytes.h"
#include "profile/pprof/pprof_reader.h"

namespace memprof::profile {
namespace {

Accept accepted(const ReadOptions& options) {
  return options.sample_type.empty() ? Accept::kForeignToo : Accept::kPprof;
}

Profile read(const ProfileBytes& bytes, const std::string& name, const ReadOptions& options) {
  if (bytes.form == Form::kForeign) {
    return read_foreign(bytes.data, name, model_limit(options, bytes.stored_bytes));
  }
  return read_unpacked_pprof(bytes, name, options);
}

}  // namespace

Profile read_any(std::string data, const std::string& name, const ReadOptions& options) {
  return read(unpack_profile(std::move(data), name, options, accepted(options)), name, options);
}

Profile read_any_from(int fd, const std::string& name, const ReadOptions& options) {
  return read(read_profile_bytes(fd, name, options, accepted(options)), name, options);
}

Profile read_any_file(const std::string& path, const ReadOptions& options) {
  return read(read_profile_bytes(path, options, accepted(options)), path, options);
}

}  // namespace memprof::profile
