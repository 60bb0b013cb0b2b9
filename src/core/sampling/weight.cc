// SPDX-License-Identifier: Apache-2.0
#include "core/sampling/weight.h"

#include "estimate/math.h"

namespace memprof {

Weight weigh(uint64_t size_bytes, uint64_t rate_bytes) {
  const double size = static_cast<double>(size_bytes);
  if (rate_bytes <= 1) {
    return {1.0, 1.0, size, 0.0};
  }
  const double points = (size_bytes == 0 ? 1.0 : size) / static_cast<double>(rate_bytes);
  const double probability = one_minus_exp(points);
  return {probability, 1.0 / probability, size / probability, missed_beside(points)};
}

}  // namespace memprof
