// SPDX-License-Identifier: Apache-2.0
#include "core/math.h"

#include <cstring>

namespace memprof {
namespace {

// ln 2 in two parts; the first has 32 trailing zero bits, so that a small integer times it is exact.
constexpr double kLn2High = 0x1.62e42fee00000p-1;
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
constexpr double kInverseLn2 = 1.4426950408889634074;
constexpr double kSqrt2 = 1.4142135623730950488;

double power_of_two(int exponent) {  // for exponents of normal numbers
  const uint64_t bits = static_cast<uint64_t>(exponent + 1023) << 52;
  double value;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

}  // namespace

double natural_log(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof(bits));
  int exponent = static_cast<int>(bits >> 52) - 1023;
  bits = (bits & 0x000fffffffffffffull) | 0x3ff0000000000000ull;
  double mantissa;
  memcpy(&mantissa, &bits, sizeof(mantissa));
  if (mantissa > kSqrt2) {
    mantissa *= 0.5;
    exponent += 1;
  }
  // ln m = 2 atanh(s) with s = (m - 1) / (m + 1), |s| <= 0.172: the series falls below 2^-53 after 11 terms.
  const double s = (mantissa - 1.0) / (mantissa + 1.0);
  const double z = s * s;
  double tail = 0.0;
  for (int k = 23; k >= 3; k -= 2) {
    tail = z * (tail + 1.0 / k);
  }
  return exponent * kLn2High + (2.0 * s + (2.0 * s * tail + exponent * kLn2Low));
}

double one_minus_exp(double x) {
  if (x >= 40.0) {
    return 1.0;  // e^-40 is below half a unit in the last place of 1
  }
  // e^-x = 2^k e^r with |r| <= ln 2 / 2.
  const int k = -static_cast<int>(x * kInverseLn2 + 0.5);
  const double r = (-x - k * kLn2High) - k * kLn2Low;
  double minus_expm1 = 0.0;  // 1 - e^r by its Taylor series, smallest term first
  for (int n = 18; n >= 2; --n) {
    minus_expm1 = (minus_expm1 + 1.0) * r / n;
  }
  minus_expm1 = -r * (1.0 + minus_expm1);
  if (k == 0) {
    return minus_expm1;
  }
  const double scale = power_of_two(k);
  return (1.0 - scale) + scale * minus_expm1;
}

}  // namespace memprof
