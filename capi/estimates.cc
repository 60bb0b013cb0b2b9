// SPDX-License-Identifier: Apache-2.0
// Estimates of sums of samples, of the public C API (include/memprof.h).
#include <cstddef>

#include "core/sampling/sampler.h"
#include "estimate/difference.h"
#include "estimate/sample_sum.h"
#include "memprof.h"

using memprof::SampleSum;
using memprof::SampleTotals;

static_assert(sizeof(memprof_totals) == sizeof(SampleTotals) &&
              offsetof(memprof_totals, max_missed_count) == offsetof(SampleTotals, max_missed_count));

namespace {

bool is_array(const void* elements, uint64_t count) {
  return elements != nullptr || count == 0;
}

SampleSum sum_of(const memprof_sample_group* groups, uint64_t count) {
  SampleSum sum;
  for (uint64_t i = 0; i < count; ++i) {
    sum.add(groups[i].size_bytes, groups[i].rate_bytes, groups[i].samples);
  }
  return sum;
}

void give(const memprof::Bounds& bounds, memprof_estimate* to) {
  if (to != nullptr) {
    *to = {bounds.value, bounds.low, bounds.high};
  }
}

int give_both(const memprof::Bounds& of_bytes, const memprof::Bounds& of_blocks, memprof_estimate* bytes,
              memprof_estimate* blocks) {
  if (!of_bytes.is_known || !of_blocks.is_known) {
    return MEMPROF_ERR_NO_MEMORY;
  }
  give(of_bytes, bytes);
  give(of_blocks, blocks);
  return MEMPROF_OK;
}

// An interval costs some microseconds: only those that are asked for.
int give_sum(const SampleSum& sum, memprof_estimate* bytes, memprof_estimate* blocks) {
  return give_both(bytes != nullptr ? sum.bytes() : memprof::Bounds{},
                   blocks != nullptr ? sum.blocks() : memprof::Bounds{}, bytes, blocks);
}

}  // namespace

int memprof_estimate_samples(const memprof_sample_group* groups, uint64_t count, memprof_estimate* bytes,
                             memprof_estimate* blocks) {
  if (!is_array(groups, count)) {
    return MEMPROF_ERR_INVALID;
  }
  const memprof::MuteScope mute;
  return give_sum(sum_of(groups, count), bytes, blocks);
}

int memprof_estimate_totals(const memprof_totals* totals, uint64_t count, memprof_estimate* bytes,
                            memprof_estimate* blocks) {
  if (!is_array(totals, count)) {
    return MEMPROF_ERR_INVALID;
  }
  const memprof::MuteScope mute;
  SampleSum sum;
  for (uint64_t i = 0; i < count; ++i) {
    const memprof_totals& t = totals[i];
    sum.add(SampleTotals{t.samples, t.size_bytes, t.weight_bytes, t.weight_count, t.variance_bytes,
                         t.variance_count, t.max_missed_bytes, t.max_missed_count});
  }
  return give_sum(sum, bytes, blocks);
}

int memprof_estimate_difference(const memprof_sample_group* before, uint64_t before_count,
                                const memprof_sample_group* after, uint64_t after_count,
                                memprof_estimate* bytes, memprof_estimate* blocks) {
  if (!is_array(before, before_count) || !is_array(after, after_count)) {
    return MEMPROF_ERR_INVALID;
  }
  const memprof::MuteScope mute;
  const SampleSum was = sum_of(before, before_count);
  const SampleSum is = sum_of(after, after_count);
  return give_both(bytes != nullptr ? memprof::difference_of(was, is, true) : memprof::Bounds{},
                   blocks != nullptr ? memprof::difference_of(was, is, false) : memprof::Bounds{}, bytes,
                   blocks);
}
