// SPDX-License-Identifier: Apache-2.0
// Reads the numbers and texts of the data block one after the other.

export class Bytes {
  private at = 0;
  private readonly view: DataView;

  constructor(private readonly bytes: Uint8Array) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** A base-128 varint; exact below 2^53. */
  varint(): number {
    let number = 0;
    for (let unit = 1; ; unit *= 128) {
      if (this.at >= this.bytes.length) throw new Error("the data block ends too early");
      const byte = this.bytes[this.at++];
      number += (byte & 127) * unit;
      if (byte < 128) return number;
    }
  }

  real(): number {
    const number = this.view.getFloat64(this.at, true);
    this.at += 8;
    return number;
  }

  text(): string {
    return this.texts([this.varint()])[0];
  }

  /** Texts of these lengths in bytes, which lie one behind the other. What is not UTF-8 becomes U+FFFD. */
  texts(lengths: ArrayLike<number>): string[] {
    const decoder = new TextDecoder();
    const texts: string[] = [];
    for (let i = 0; i < lengths.length; ++i) {
      texts.push(decoder.decode(this.bytes.subarray(this.at, this.at + lengths[i])));
      this.at += lengths[i];
    }
    return texts;
  }

  column(count: number): Uint32Array {
    const numbers = new Uint32Array(count);
    for (let i = 0; i < count; ++i) numbers[i] = this.varint();
    return numbers;
  }

  /** For numbers that may be 2^32 or more. */
  wideColumn(count: number): Float64Array {
    const numbers = new Float64Array(count);
    for (let i = 0; i < count; ++i) numbers[i] = this.varint();
    return numbers;
  }

  get isAtEnd(): boolean {
    return this.at === this.bytes.length;
  }
}
