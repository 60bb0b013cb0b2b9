// SPDX-License-Identifier: Apache-2.0
// The fields of one comment of a pprof file: "key=value" behind its name, separated by one space.
//
// Threads: one object is one thread's, also while it is const.  Owns: nothing; the text must outlive it.
// Failure: ok() is false once a field was missing or malformed; what is returned then is 0 or empty.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "profile/model/model.h"

namespace memprof::profile {

// Values of fields.
class FieldValues {
 public:
  bool ok() const { return ok_; }

 protected:
  std::vector<Lifetime> lifetimes_in(std::string_view value);
  std::vector<Birth> births_in(std::string_view value);
  // What commas separate.
  template <typename Each>
  void for_each_entry(std::string_view value, const Each& each);
  // Colons separate them; those after the first `decimals` are hexadecimal.  Returns how many there are.
  size_t read_numbers(std::string_view text, size_t decimals, size_t max, uint64_t* numbers);
  uint64_t integer_in(std::string_view value, int base);
  double real_of(uint64_t bits);

  bool ok_ = true;

 private:
  Lifetime lifetime(std::string_view text);
  // At least so much: rounding may have left it below.
  double short_real(uint64_t bits, double min);
};

class CommentFields : public FieldValues {
 public:
  explicit CommentFields(std::string_view text);

  bool has(std::string_view key) const { return find(key) != nullptr; }
  uint64_t decimal(std::string_view key) { return integer(key, 10); }
  // A field that not every profile has.
  uint64_t decimal_or_0(std::string_view key) { return has(key) ? decimal(key) : 0; }
  uint64_t hex(std::string_view key) { return integer(key, 16); }
  // Nearly all our doubles are sums of things that are not negative.
  double real(std::string_view key);
  double signed_real(std::string_view key);
  // "CLASS:SAMPLES:SIZES[:BYTES:BLOCKS],..."; a file of before has none.
  std::vector<Lifetime> lifetimes(std::string_view key) { return lifetimes_in(value_or_empty(key)); }
  // "PART:SAMPLES:BYTES:BLOCKS,..."; a file of before has none.
  std::vector<Birth> births(std::string_view key) { return births_in(value_or_empty(key)); }
  // "RATE:BYTES:NS,..."; what is wrong is left out.
  std::vector<RateUse> rates(std::string_view key) const;
  // Not known where something is wrong.
  LoadTimes load();
  std::string text(std::string_view key) const;

 private:
  uint64_t integer(std::string_view key, int base);

  struct Field {
    std::string_view key;
    std::string_view value;
  };
  // Fields are asked for nearly in the order in which they were written: the search goes on behind the last
  // one that was found.  A profile of 10,000 stacks has as many comments: a hash table of each took a third of
  // the time to read it.
  const std::string_view* find(std::string_view key) const;
  std::string_view value_or_empty(std::string_view key) const;

  std::vector<Field> fields_;
  mutable size_t next_ = 0;  // where the search begins
};

}  // namespace memprof::profile
