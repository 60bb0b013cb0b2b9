// SPDX-License-Identifier: Apache-2.0
// The distribution of a sum of independent parts: steps of a few lengths, as atoms, and a continuous rest.
// It computes what src/profile/model/missed_distribution.cc does; docs/decisions/0007 says why.
import { gammaCdf, normalCdf } from "./gamma";

export interface Cumulants {
  mean: number;
  variance: number;
  third: number;
}
/** Samples of one kind of block: it weighs `step` and is sampled with that probability. */
export interface Group {
  step: number;
  probability: number;
  samples: number;
}
interface Atom {
  at: number;
  probability: number;
}

const MOST_ATOMS = 256;
const NEGLIGIBLE = 1e-7;

export function cumulantsOf(group: Group): Cumulants {
  const q = 1 - group.probability;
  const unit = group.step / group.probability;
  return {
    mean: group.samples * q * unit,
    variance: group.samples * q * unit * unit,
    third: group.samples * q * (1 + q) * unit * unit * unit,
  };
}

export function plus(a: Cumulants, b: Cumulants, sign = 1): Cumulants {
  return {
    mean: a.mean + sign * b.mean,
    variance: a.variance + sign * b.variance,
    third: a.third + sign * b.third,
  };
}

/** Those closer than `leastWidth` become one at their mean; if there are still too many, more do. */
function mergeAtoms(atoms: Atom[], leastWidth: number): Atom[] {
  let sorted = atoms.slice().sort((a, b) => a.at - b.at);
  const range = sorted[sorted.length - 1].at - sorted[0].at;
  for (let limit = Math.max(leastWidth, 1e-9 * range); ; limit = Math.max(2 * limit, range / (2 * MOST_ATOMS))) {
    const kept: Atom[] = [{ ...sorted[0] }];
    let begin = sorted[0].at;
    for (const atom of sorted.slice(1)) {
      const last = kept[kept.length - 1];
      if (atom.at - begin <= limit) {
        const sum = last.probability + atom.probability;
        last.at += (atom.at - last.at) * (atom.probability / sum);
        last.probability = sum;
      } else {
        kept.push({ ...atom });
        begin = atom.at;
      }
    }
    sorted = kept;
    if (sorted.length <= MOST_ATOMS) return sorted;
  }
}

export class Distribution {
  private atoms: Atom[] = [{ at: 0, probability: 1 }];
  private normalShape = 200;
  private deviation = 0; // these of the rest
  private shape = 0;
  private scale = 0;
  private shift = 0;

  constructor(
    private rest: Cumulants = { mean: 0, variance: 0, third: 0 },
    public hasRest = false,
  ) {
    this.fitRest();
  }

  copy(): Distribution {
    const copy = new Distribution(this.rest, this.hasRest);
    copy.atoms = this.atoms;
    copy.normalShape = this.normalShape;
    return copy;
  }

  convolve(group: Group): void {
    const q = 1 - group.probability;
    const terms: number[] = [];
    let term = Math.pow(group.probability, group.samples);
    let sum = 0;
    for (let k = 0; terms.length < MOST_ATOMS && sum < 1 - NEGLIGIBLE; ++k) {
      terms.push(term);
      sum += term;
      term *= (q * (group.samples + k)) / (k + 1);
    }
    const result: Atom[] = [];
    for (const atom of this.atoms) {
      terms.forEach((own, k) => {
        const probability = atom.probability * own;
        if (probability > NEGLIGIBLE * 0.1) result.push({ at: atom.at + k * group.step, probability });
      });
    }
    this.atoms = mergeAtoms(result, 0);
  }

  addRest(more: Cumulants): void {
    this.rest = this.hasRest ? plus(this.rest, more) : more;
    this.hasRest = true;
    this.fitRest();
  }

  /** Fewer atoms, where the rest smears what lies closer than `width`. */
  coarsen(width: number): void {
    this.atoms = mergeAtoms(this.atoms, width);
    this.normalShape = 20;
  }

  cdf(x: number): number {
    let sum = 0;
    for (const atom of this.atoms) {
      if (atom.at > x) break;
      sum += atom.probability * (this.hasRest ? this.restCdf(x - atom.at) : 1);
    }
    return sum;
  }

  private fitRest(): void {
    const { mean, variance, third } = this.rest;
    this.deviation = Math.sqrt(Math.max(variance, 0));
    this.shape = this.scale = this.shift = 0;
    if (variance > 0 && third > 0) {
      this.shape = (4 * variance * variance * variance) / (third * third);
      this.scale = third / (2 * variance);
      this.shift = mean - this.shape * this.scale;
    }
  }

  private restCdf(x: number): number {
    if (!(this.deviation > 0)) return x >= this.rest.mean ? 1 : 0;
    if (this.shape === 0) return normalCdf((x - this.rest.mean) / this.deviation);
    const standard = (x - this.shift) / this.scale;
    if (standard <= 0) return 0;
    if (this.shape > this.normalShape) {
      // Wilson and Hilferty
      const root = Math.cbrt(standard / this.shape) - 1 + 1 / (9 * this.shape);
      return normalCdf(root * 3 * Math.sqrt(this.shape));
    }
    return gammaCdf(this.shape, standard);
  }
}
