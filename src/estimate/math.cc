// SPDX-License-Identifier: Apache-2.0
#include "estimate/math.h"

#include <cmath>
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

// x - k ln 2 for the k next to it, and e^(x - k ln 2) - 1.
struct Reduced {
  int k;
  double exp_minus_one;
};
Reduced reduce(double x) {
  const int k = static_cast<int>(x * kInverseLn2 + (x < 0 ? -0.5 : 0.5));
  const double r = (x - k * kLn2High) - k * kLn2Low;
  return {k, r + r * (r * polynomial(kExp, r))};
}

// Chebyshev coefficients of ln (e^(z^2) erfc(z) / t) over t = 2 / (2 + z), for z >= 0, computed with 80 digits.
constexpr double kErfc[] = {
    -1.3026537197817094,     0.6419697923564902,      0.019476473204185836,   -0.009561514786808632,
    -0.0009465953444820369,  0.00036683949785276145,  4.252332480690777e-05,  -2.0278578112534242e-05,
    -1.6242900046470256e-06, 1.3036558355805232e-06,  1.5626441722066142e-08, -8.523809591492654e-08,
    6.5290544390988515e-09,  5.059343495551469e-09,   -9.91364156493033e-10,  -2.273651222931836e-10,
    9.646791102015527e-11,   2.3940380830391146e-12,  -6.886027526497553e-12, 8.944879273090725e-13,
    3.130921399342958e-13,   -1.1270822361367252e-13, 3.810905255189232e-16,  7.106097613609237e-15,
    -1.5230282014571043e-15, -9.457494571291233e-17,  1.210237189224279e-16,  -2.816663087747177e-17};

// 1 - erf(z) for z >= 0.
double erfc_of(double z) {
  const double t = 2 / (2 + z);
  const double u = 2 * (2 * t - 1);
  double sum = 0;
  double before = 0;
  for (size_t k = sizeof(kErfc) / sizeof(kErfc[0]) - 1; k > 0; --k) {  // Clenshaw
    const double next = u * sum - before + kErfc[k];
    before = sum;
    sum = next;
  }
  return t * exponential(-z * z + 0.5 * (u * sum + kErfc[0]) - before);
}

// Stirling's series at x >= 8, with the first factors apart.
constexpr double kStirling[] = {1.0 / 12,   -1.0 / 360,      1.0 / 1260, -1.0 / 1680,
                                1.0 / 1188, -691.0 / 360360, 1.0 / 156,  -3617.0 / 122400};

}  // namespace

double exponential(double x) {
  constexpr double kOverflow = 709.7;
  constexpr double kUnderflow = -708;
  if (x > kOverflow) {
    return HUGE_VAL;
  }
  if (x < kUnderflow) {
    return 0;
  }
  const Reduced r = reduce(x);
  return power_of_two(r.k) * (1 + r.exp_minus_one);
}

double exp_minus_one(double x) {
  constexpr double kNothingLeft = 40;  // of the 1
  if (x < -kNothingLeft) {
    return -1;
  }
  if (x > kNothingLeft) {
    return exponential(x);
  }
  const Reduced r = reduce(x);
  const double scale = power_of_two(r.k);
  return r.k == 0 ? r.exp_minus_one : (scale - 1) + scale * r.exp_minus_one;
}

double missed_beside(double points) {
  constexpr double kMaxPoints = 700;  // e^709 is the largest double
  return 1 / exp_minus_one(points < kMaxPoints ? points : kMaxPoints);
}

double log_one_plus(double x) {
  const double sum = 1 + x;
  // What rounding took from the sum is put back by the ratio.
  return sum == 1 ? x : natural_log(sum) * (x / (sum - 1));
}

double power(double base, double exponent) {
  return exponential(exponent * natural_log(base));
}

double cube_root(double x) {
  const double root = exponential(natural_log(x) / 3);
  return root - (root - x / (root * root)) / 3;
}

double square_root(double x) {
  return __builtin_sqrt(x);
}

double normal_cdf(double z) {
  constexpr double kInverseSqrt2 = 0.70710678118654752;
  return z < 0 ? 0.5 * erfc_of(-z * kInverseSqrt2) : 1 - 0.5 * erfc_of(z * kInverseSqrt2);
}

double log_gamma(double x) {
  constexpr double kLogSqrtTwoPi = 0.91893853320467274178;
  double factors = 1;
  while (x < 8) {
    factors *= x;
    x += 1;
  }
  const double inverse = 1 / x;
  double series = 0;
  for (int i = static_cast<int>(sizeof(kStirling) / sizeof(kStirling[0])) - 1; i >= 0; --i) {
    series = series * inverse * inverse + kStirling[i];
  }
  return (x - 0.5) * natural_log(x) - x + kLogSqrtTwoPi + series * inverse - natural_log(factors);
}

// A series below the mean, a continued fraction (Lentz) above.
double gamma_cdf(double shape, double x) {
  constexpr double kEnough = 1e-15;
  constexpr double kTiny = 1e-300;
  constexpr int kMaxTerms = 10000;
  if (!(x > 0)) {
    return 0;
  }
  const double factor = exponential(shape * natural_log(x) - x - log_gamma(shape));
  if (x < shape + 1) {
    double term = 1 / shape;
    double sum = term;
    for (double n = shape + 1; term > sum * kEnough; n += 1) {
      term *= x / n;
      sum += term;
    }
    return factor * sum < 1 ? factor * sum : 1;
  }
  double b = x + 1 - shape;
  double c = 1 / kTiny;
  double d = 1 / b;
  double h = d;
  for (int i = 1; i < kMaxTerms; ++i) {
    const double a = -i * (i - shape);
    b += 2;
    d = a * d + b;
    d = 1 / (d != 0 ? d : kTiny);
    c = b + a / c;
    c = c != 0 ? c : kTiny;
    h *= d * c;
    if (d * c - 1 < kEnough && d * c - 1 > -kEnough) {
      break;
    }
  }
  return factor * h < 1 ? 1 - factor * h : 0;
}

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
