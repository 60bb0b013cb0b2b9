// SPDX-License-Identifier: Apache-2.0
#include "memprof/io/profile_output.h"

#include "format/pprof/pprof_name.h"
#include "profile/files/atomic_file.h"
#include "profile/pprof/pprof_writer.h"

namespace memprof::cli {

namespace {

// `write` takes options and a sink.
template <typename Write>
void write_file(const std::string& path, bool force, const Write& write) {
  profile::PprofWriteOptions options;
  const profile::PprofEnd* end = profile::pprof_end_of(path.c_str());
  options.gzip = end == nullptr || end->has_gzip;
  profile::AtomicFile file(path, force ? profile::IfExists::kReplace : profile::IfExists::kRefuse);
  write(options, file.sink());
  file.commit();
}

}  // namespace

void write_profile(const profile::Profile& profile, const std::string& path, bool force) {
  write_file(path, force, [&](const profile::PprofWriteOptions& options, const profile::Sink& to) {
    profile::write_pprof(profile, options, to);
  });
}

profile::Accumulator write_profile(const profile::PassingProfile& profile, const std::string& path,
                                   bool force) {
  profile::Accumulator sum;
  write_file(path, force, [&](const profile::PprofWriteOptions& options, const profile::Sink& to) {
    sum = profile.write(options, to);
  });
  return sum;
}

}  // namespace memprof::cli
