// SPDX-License-Identifier: Apache-2.0
// Names as a cache keeps them: the input is what its checksum is over.  What is read can be written, and read again.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "profile/symbolize/cache/kept_names.h"
#include "profile/symbolize/files/debug_link.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using memprof::profile::KeptNames;
  constexpr char kKey[] = "key";
  const std::string body(reinterpret_cast<const char*>(data), size);
  std::string bytes = KeptNames().encode(kKey);
  bytes.erase(bytes.find('\n') + 1);
  const uint32_t sum = memprof::profile::debug_link_checksum(body);
  for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<char>(sum >> shift));
  const auto names = KeptNames::decode(bytes + body, kKey);
  if (!names) return 0;
  const std::string written = names->encode(kKey);
  const auto again = KeptNames::decode(written, kKey);
  if (!again || again->addresses() != names->addresses() || again->encode(kKey) != written) std::abort();
  return 0;
}
