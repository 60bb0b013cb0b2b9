// SPDX-License-Identifier: Apache-2.0
#include "core/sampling/math.h"

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

// A polynomial of degree 11, c[0] + c[1] x + ...  Estrin's scheme: the halves do not wait for one another, so
// it takes a third of the time of Horner's.
double polynomial(const double (&c)[12], double x) {
  const double x2 = x * x;
  const double x4 = x2 * x2;
  const double low = (c[0] + c[1] * x) + x2 * (c[2] + c[3] * x);
  const double middle = (c[4] + c[5] * x) + x2 * (c[6] + c[7] * x);
  const double high = (c[8] + c[9] * x) + x2 * (c[10] + c[11] * x);
  return low + x4 * (middle + x4 * high);
}

// 2 atanh(s) = 2 s (1 + z (1/3 + z/5 + ...)) with z = s^2.
constexpr double kAtanh[12] = {1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9,  1.0 / 11, 1.0 / 13,
                               1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21, 1.0 / 23, 1.0 / 25};

// e^r = 1 + r (1 + r (1/2! + r/3! + ...)).
constexpr double kExp[12] = {1.0 / 2,       1.0 / 6,        1.0 / 24,        1.0 / 120,
                             1.0 / 720,     1.0 / 5040,     1.0 / 40320,     1.0 / 362880,
                             1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800};

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
  const double tail = z * polynomial(kAtanh, z);
  return exponent * kLn2High + (2.0 * s + (2.0 * s * tail + exponent * kLn2Low));
}

double one_minus_exp(double x) {
  if (x >= 40.0) {
    return 1.0;  // e^-40 is below half a unit in the last place of 1
  }
  // e^-x = 2^k e^r with |r| <= ln 2 / 2, where the series falls below 2^-53 after 12 terms.
  const int k = -static_cast<int>(x * kInverseLn2 + 0.5);
  const double r = (-x - k * kLn2High) - k * kLn2Low;
  const double minus_expm1 = -(r + r * (r * polynomial(kExp, r)));
  if (k == 0) {
    return minus_expm1;
  }
  const double scale = power_of_two(k);
  return (1.0 - scale) + scale * minus_expm1;
}

}  // namespace memprof
