// SPDX-License-Identifier: Apache-2.0
// Text for a terminal or a file: sentences that break where the terminal ends, colours and signs beyond ASCII
// only where they are wanted.
//
// Threads: plain values.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace memprof::profile {

struct TextOptions {
  size_t width = 0;  // columns of the terminal; 0: no terminal, nothing is cut
  bool has_color = false;
  bool has_utf8 = true;   // else ASCII
  bool has_bars = false;  // shares of the whole as bars, too
};

struct Signs {
  const char* plus_minus;
  const char* calls;      // between a caller and what it calls
  const char* called_by;  // the other way round
  const char* branch;     // the last four: two columns before a node
  const char* last_branch;
  const char* bar;
  const char* blank;
};

// What a part of a line means, for its colour.
enum class Tone : unsigned char { kPlain, kStrong, kFaint, kGrowth, kShrinkage, kBar };

constexpr Tone change_tone(double change) {
  return change > 0 ? Tone::kGrowth : change < 0 ? Tone::kShrinkage : Tone::kPlain;
}

// A line of a writer with colours, in the parts that have one tone each, without their sequences.
struct TonedText {
  Tone tone = Tone::kPlain;
  std::string text;
};
std::vector<TonedText> toned_parts(const std::string& line);

class TextWriter {
 public:
  explicit TextWriter(const TextOptions& options) : options_(options) {}

  const TextOptions& options() const { return options_; }
  const Signs& signs() const;

  // As it is.
  void line(const std::string& text);
  // An empty line, if there is none yet.
  void blank();
  // Broken between words where the terminal ends.
  void sentence(const std::string& text);

  std::string bold(const std::string& text) const { return toned(Tone::kStrong, text); }
  std::string faint(const std::string& text) const { return toned(Tone::kFaint, text); }
  std::string toned(Tone tone, const std::string& text) const;

  // All of it; the writer is empty then.
  std::string take();

 private:
  TextOptions options_;
  std::string text_;
};

// Names come from files: what would steer a terminal, or is not UTF-8, becomes `?`.
std::string printable(const std::string& text);

}  // namespace memprof::profile
