// SPDX-License-Identifier: Apache-2.0
// Distribution functions of the gamma and the normal distribution.

const LANCZOS = [
  676.5203681218851, -1259.1392167224028, 771.3234287776531, -176.6150291621406, 12.507343278686905,
  -0.13857109526572012, 9.984369578019572e-6, 1.5056327351493116e-7,
];

/** log of the gamma function, for x > 0. */
export function logGamma(x: number): number {
  if (x < 0.5) return Math.log(Math.PI / Math.sin(Math.PI * x)) - logGamma(1 - x);
  let sum = 0.9999999999998099;
  LANCZOS.forEach((factor, i) => (sum += factor / (x + i)));
  const t = x + LANCZOS.length - 1.5;
  return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(t) - t + Math.log(sum);
}

const MOST_TERMS = 1000;
const ENOUGH = 1e-14;

/** P(shape, x): the share of a gamma distribution of scale 1 that is at most x. */
export function gammaCdf(shape: number, x: number): number {
  if (!(x > 0)) return 0;
  const front = Math.exp(shape * Math.log(x) - x - logGamma(shape));
  if (x < shape + 1) {
    let term = 1 / shape;
    let sum = term;
    for (let i = 1; i < MOST_TERMS && term > ENOUGH * sum; ++i) {
      term *= x / (shape + i);
      sum += term;
    }
    return Math.min(front * sum, 1);
  }
  // The continued fraction of the upper tail, after Lentz.
  const tiny = 1e-300;
  let b = x + 1 - shape;
  let c = 1 / tiny;
  let d = 1 / b;
  let h = d;
  for (let i = 1; i < MOST_TERMS; ++i) {
    const a = -i * (i - shape);
    b += 2;
    d = a * d + b;
    if (Math.abs(d) < tiny) d = tiny;
    c = b + a / c;
    if (Math.abs(c) < tiny) c = tiny;
    d = 1 / d;
    h *= d * c;
    if (Math.abs(d * c - 1) < ENOUGH) break;
  }
  return Math.max(1 - front * h, 0);
}

export function normalCdf(z: number): number {
  const half = 0.5 * gammaCdf(0.5, (z * z) / 2);
  return z < 0 ? 0.5 - half : 0.5 + half;
}
