// SPDX-License-Identifier: Apache-2.0
// What a sample stands for.
//
// Model: the bytes of all allocations of a thread lie on a line; points fall on it as a Poisson process with
// one point each R bytes on average.  A block is sampled when at least one point falls into it, which happens
// with p = 1 - e^(-s/R).  A sampled block stands for 1/p blocks and s/p bytes (Horvitz-Thompson); the
// variance that it adds to a sum of such weights w is estimated by (1-p) w^2.
//   s = 64, R = 512 KiB:  p = 0.000122, stands for 8192.5 blocks, 524,320 bytes
//   s = R:                p = 0.632,    stands for 1.58 blocks
//   s = 10 R:             p = 0.99995,  stands for itself
// An allocation of size 0 counts as one byte of the line and as 0 bytes in sums.  With R of 0 or 1 every
// allocation is sampled and stands for itself.
//
// Signals, fork: pure.
// Allocates: never.
#pragma once

#include <cstdint>

namespace memprof {

struct Weight {
  double probability;
  double count;  // blocks that the sample stands for
  double bytes;
  double missed;  // blocks beside itself: (1-p)/p, without cancellation; never 0 at a rate above 1

  double missed_bytes() const { return missed * (bytes * probability); }
};

Weight weigh(uint64_t size_bytes, uint64_t rate_bytes);

// For sums of whole bytes, from which what was added can be taken away again.
inline uint64_t rounded_bytes(const Weight& weight) {
  return static_cast<uint64_t>(weight.bytes + 0.5);
}

}  // namespace memprof
