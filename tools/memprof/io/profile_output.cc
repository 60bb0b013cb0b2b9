// SPDX-License-Identifier: Apache-2.0
#include "memprof/io/profile_output.h"

#include "format/pprof/pprof_name.h"
#include "profile/files/atomic_file.h"
#include "profile/pprof/pprof_writer.h"

namespace memprof::cli {

void write_profile(const profile::Profile& profile, const std::string& path, bool force) {
  profile::PprofWriteOptions options;
  const profile::PprofEnd* end = profile::pprof_end_of(path.c_str());
  options.gzip = end == nullptr || end->has_gzip;
  profile::write_file_atomically(path, profile::write_pprof(profile, options),
                                 force ? profile::IfExists::kReplace : profile::IfExists::kRefuse);
}

}  // namespace memprof::cli
