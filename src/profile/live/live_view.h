// SPDX-License-Identifier: Apache-2.0
// What a viewer on a terminal sees of running processes, and what keys do to it.  No terminal is touched: keys
// come in as values, a frame goes out as cells (live_frame.h).
//
// Threads: plain values.
// Failure: look() throws Error where build_report does; what a key asks for and cannot be shown becomes a
// message in the frame.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "profile/live/live_key.h"
#include "profile/live/live_model.h"

namespace memprof::profile {

// What the caller has to do after a key.
enum class LiveEffect : uint8_t { kNone, kQuit, kLook };

// Text that a user types.
struct LivePrompt {
  bool is_ignore = false;  // else focus
  std::string text;
};

class LiveView {
 public:
  // `interval_s`: between two looks.
  LiveView(LiveChoice choice, double interval_s);

  void look(LiveLook look);
  // Nothing is looked at any more; `why` is shown, "server (pid 12) has ended".
  void end(const std::string& why);
  // Something to tell until the next key.
  void say(const std::string& message) { message_ = message; }

  LiveEffect press(const LiveKey& key);

  // Of the frames from now on.
  void set_size(size_t width, size_t height, bool has_utf8);
  size_t width() const { return width_; }
  size_t height() const { return height_; }
  bool has_utf8() const { return has_utf8_; }
  // Lines over the rows of the table: its titles and, where there is room, what all rows are of.
  size_t lines_above() const { return height_ >= kRoomyHeight ? 5 : 2; }

  const LiveModel& model() const { return model_; }
  // While it is so no look is wanted.
  bool is_paused() const { return is_paused_; }
  bool has_ended() const { return !end_.empty(); }
  const std::string& ending() const { return end_; }
  // As asked for, but no less than is allowed.
  double interval_s() const { return interval_s_ < min_interval_s_ ? min_interval_s_ : interval_s_; }
  // Looks may not come faster; 0: as fast as the user wants.
  void allow_interval_s(double min) { min_interval_s_ = min; }
  bool is_held_back() const { return interval_s_ < min_interval_s_; }
  bool has_help() const { return has_help_; }
  const std::optional<LivePrompt>& prompt() const { return prompt_; }
  const std::string& message() const { return message_; }
  // The first row on the screen, and the one that is chosen; rows of the table or of the tree's text.
  size_t top() const { return top_; }
  size_t selected() const { return selected_; }
  size_t row_count() const;
  // The tree as text, its titles first.
  const std::vector<std::string>& tree_lines() const { return tree_lines_; }

 private:
  static constexpr size_t kRoomyHeight = 12;

  void press_in_prompt(const LiveKey& key);
  void press_letter(char letter);
  void choose(const LiveChoice& choice);
  void set_filter(const LivePrompt& prompt);
  void focus_on_selected();
  void move(long rows);
  void keep_in_sight();
  void follow();
  void draw_tree();
  size_t page() const;

  LiveModel model_;
  double interval_s_;
  double min_interval_s_ = 0;
  bool is_paused_ = false;
  bool has_help_ = false;
  bool wants_look_ = false;
  std::string end_;
  std::string message_;
  std::optional<LivePrompt> prompt_;
  size_t width_ = 80;
  size_t height_ = 24;
  bool has_utf8_ = true;
  std::vector<std::string> tree_lines_;
  size_t top_ = 0;
  size_t selected_ = 0;
  std::string selected_key_;  // of the row; empty: none was chosen, the first row is
};

}  // namespace memprof::profile
