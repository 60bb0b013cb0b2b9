// SPDX-License-Identifier: Apache-2.0
#include "core/arena/live_record.h"

namespace memprof {
namespace {

// A code is this, how far digits are shifted, and the digits.
constexpr uint32_t kHasRate = uint32_t{1} << 31;
constexpr uint32_t kRateDigits = 25;

}  // namespace

uint32_t FirstRate::code(uint64_t rate_bytes) {
  uint32_t shift = 0;
  for (; rate_bytes >> kRateDigits != 0 && (rate_bytes & 1) == 0; rate_bytes >>= 1) {
    ++shift;
  }
  return rate_bytes >> kRateDigits != 0 ? kNone
                                        : kHasRate | shift << kRateDigits | static_cast<uint32_t>(rate_bytes);
}

uint64_t FirstRate::rate_bytes(uint32_t code) {
  return uint64_t{code & ((uint32_t{1} << kRateDigits) - 1)} << ((code & ~kHasRate) >> kRateDigits);
}

uint32_t ResidentShare::code(float share) {
  if (!(share >= 0)) {
    return kUnknown;
  }
  constexpr float kSteps = kMax - 1;
  const auto steps = static_cast<uint32_t>((share < 1 ? share : 1) * kSteps + 0.5F);
  return 1 + (steps == 0 && share > 0 ? 1 : steps);
}

float ResidentShare::share(uint32_t code) {
  return code == kUnknown || code > kMax ? -1 : static_cast<float>(code - 1) / (kMax - 1);
}

}  // namespace memprof
