// SPDX-License-Identifier: Apache-2.0
#include "memprof/run/processes/left_profile.h"

#include <utility>

#include "memprof/io/profile_output.h"
#include "profile/pprof/pprof_reader.h"

namespace memprof::cli {

LeftProfile::LeftProfile(ProfileBytes pprof, const std::string& name)
    : pprof_(std::move(pprof)), passing_(profile::PassingProfile::read(pprof_.view(), name)) {
  if (!passing_) whole_ = profile::read_pprof(pprof_.view(), name);
}

double LeftProfile::total(profile::Metric metric) const {
  return passing_ ? passing_->total(metric) : profile::estimated_total(whole_, metric);
}

profile::UnseenHeap LeftProfile::write(const std::string& path, bool force) {
  if (passing_) return profile::unseen_heap(passing_->profile(), write_profile(*passing_, path, force));
  write_profile(whole_, path, force);
  return profile::unseen_heap(whole_);
}

}  // namespace memprof::cli
