// SPDX-License-Identifier: Apache-2.0
#include "core/sampling/weight.h"

#include "estimate/math.h"

namespace memprof {

Weight weigh(uint64_t size_bytes, uint64_t rate_bytes) {
  const double size = static_cast<double>(size_bytes);
  if (rate_bytes <= 1) {
    return {1.0, 1.0, size};
  }
  const double line_bytes = size_bytes == 0 ? 1.0 : size;
  const double probability = one_minus_exp(line_bytes / static_cast<double>(rate_bytes));
  return {probability, 1.0 / probability, size / probability};
}

}  // namespace memprof
