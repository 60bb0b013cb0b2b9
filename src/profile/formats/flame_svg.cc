// SPDX-License-Identifier: Apache-2.0
#include "profile/formats/flame_svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <queue>
#include <utility>
#include <vector>

#include "profile/model/estimate.h"
#include "profile/model/metric.h"
#include "profile/names/short_name.h"
#include "profile/names/stack_frames.h"
#include "profile/text/markup/html_text.h"
#include "profile/text/units.h"

namespace memprof::profile {
namespace {

constexpr double kWidth = 1200;  // of the picture, in pixels at its own size
constexpr double kMargin = 10;
constexpr double kRowHeight = 18;
constexpr double kTop = 66;
constexpr double kNarrowest = 0.5;  // a box that is less wide is not seen
constexpr size_t kMaxBoxes = 6000;
constexpr double kCharacter = 6.7;  // width of one of 11 pixels of any font for code
constexpr double kMinText = 3 * kCharacter;
constexpr size_t kLongestTitle = 400;

// Of light and dark pages alike: light boxes with dark text.
constexpr const char* kColors[] = {"#f2a65a", "#f7c36f", "#e98b6d", "#9fcf9b",
                                   "#8fc7d8", "#b9b4e0", "#d9c08c", "#e3a5b4"};
constexpr char kUnknownColor[] = "#c9c9c9";
constexpr char kLessColor[] = "#86d94f";  // of what is below zero: of no module
constexpr char kMinus[] = "\u2212";

constexpr char kStyle[] =
    "text{font:11px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#1b1b1b}"
    ".page{fill:#ffffff}.head text,text.foot{fill:#222222}.head .title{font-size:15px;font-weight:bold}"
    "rect.box{stroke:#ffffff;stroke-width:.6}g.box:hover rect{stroke:#000000}"
    "@media (prefers-color-scheme:dark){.page{fill:#15171c}.head text,text.foot{fill:#e6e6e6}"
    "rect.box{stroke:#15171c}g.box:hover rect{stroke:#ffffff}}";

// Escaped, and without the two characters that html_text lets through and XML does not have.
std::string xml_text(const std::string& text) {
  std::string out = html_text(text);
  for (const char* none : {"\xef\xbf\xbe", "\xef\xbf\xbf"}) {
    for (size_t at; (at = out.find(none)) != std::string::npos;) out.replace(at, 3, "?");
  }
  return out;
}

// Columns of a font for code: characters beyond the Latin ones are taken for wide.
std::string fitting(const std::string& name, double width) {
  const auto columns = static_cast<size_t>(std::max(width, 0.0) / kCharacter);
  const bool is_ascii = std::all_of(name.begin(), name.end(), [](char c) { return (c & 0x80) == 0; });
  return short_name(name, is_ascii ? columns : columns / 2);
}

struct Path {
  std::vector<uint32_t> frames;  // root first
  const Stack* stack = nullptr;
  double value = 0;      // its size
  bool is_less = false;  // below zero: what shrank, of a difference
};

// Paths that share their first `depth` frames, all of them below zero or none.
struct Box {
  size_t begin = 0;
  size_t end = 0;
  size_t depth = 0;
  double value = 0;
  double x = 0;

  bool operator<(const Box& other) const {
    return value != other.value ? value < other.value : begin > other.begin;
  }
};

class Flame {
 public:
  Flame(const Profile& profile, const FlameOptions& options)
      : profile_(profile), options_(options), frames_(profile, options.by) {
    for (const Stack& stack : profile.stacks) {
      Path path;
      path.stack = &stack;
      path.value = estimated_value(stack, options.metric);
      path.is_less = path.value < 0;
      path.value = std::abs(path.value);
      if (path.value == 0) continue;
      path.frames = frames_.root_first(stack);
      path.frames.erase(std::unique(path.frames.begin(), path.frames.end()), path.frames.end());
      (path.is_less ? less_ : more_) += path.value;
      paths_.push_back(std::move(path));
    }
    whole_ = more_ + less_;
    std::sort(paths_.begin(), paths_.end(), [](const Path& a, const Path& b) {
      return a.is_less != b.is_less ? b.is_less : a.frames < b.frames;
    });
  }

  std::string write() {
    if (whole_ > 0) place();
    const double height = kTop + kRowHeight * static_cast<double>(std::max<size_t>(deepest_, 1)) + 30;
    std::string out = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0:.0f} {1:.0f}\" width=\"{0:.0f}\" "
        "height=\"{1:.0f}\" "
        "role=\"img\">\n<title>{2}</title>\n<style>{3}</style>\n<rect class=\"page\" width=\"100%\" "
        "height=\"100%\"/>\n",
        kWidth, height, xml_text(title()), kStyle);
    out += head();
    out += boxes_;
    if (whole_ <= 0) {
      out += fmt::format("<text class=\"foot\" x=\"{}\" y=\"{}\">Nothing to draw: {} has no {}.</text>\n",
                         kMargin, kTop + 14, xml_text(short_name(options_.name, 100)),
                         metric_name(options_.metric));
    } else if (hidden_ != 0) {
      out += fmt::format(
          "<text class=\"foot\" x=\"{}\" y=\"{:.0f}\">{} branch{} too narrow to see {} left out: {:.2f} % "
          "of the whole.</text>\n",
          kMargin, height - 12, hidden_, hidden_ == 1 ? "" : "es", hidden_ == 1 ? "is" : "are",
          100 * hidden_value_ / whole_);
    }
    return out + "</svg>\n";
  }

 private:
  double width_of(double value) const { return value / whole_ * (kWidth - 2 * kMargin); }

  // Boxes in the order of their weight, so that those that there is no room for are the narrowest.
  // What shrank stands to the right of what grew, so that no box is the difference of what is in it.
  void place() {
    const auto first_less =
        std::find_if(paths_.begin(), paths_.end(), [](const Path& path) { return path.is_less; });
    const auto more = static_cast<size_t>(first_less - paths_.begin());
    open({0, more, 0, more_, kMargin});
    open({more, paths_.size(), 0, less_, kMargin + width_of(more_)});
    while (!waiting_.empty()) {
      const Box box = waiting_.top();
      waiting_.pop();
      if (drawn_ == kMaxBoxes) {
        hide(box.value);
        continue;
      }
      ++drawn_;
      deepest_ = std::max(deepest_, box.depth);
      draw(box);
      open(box);
    }
  }

  void hide(double value) {
    ++hidden_;
    hidden_value_ += value;
  }

  void open(const Box& parent) {
    std::vector<Box> children;
    for (size_t i = parent.begin; i < parent.end; ++i) {
      const std::vector<uint32_t>& frames = paths_[i].frames;
      if (frames.size() == parent.depth) continue;  // ends here
      if (children.empty() || paths_[children.back().begin].frames[parent.depth] != frames[parent.depth]) {
        children.push_back({i, i, parent.depth + 1, 0, 0});
      }
      children.back().end = i + 1;
      children.back().value += paths_[i].value;
    }
    std::sort(children.begin(), children.end(), [](const Box& a, const Box& b) { return b < a; });
    double x = parent.x;
    for (Box& child : children) {
      if (width_of(child.value) < kNarrowest) {
        hide(child.value);
        continue;
      }
      child.x = x;
      x += width_of(child.value);
      waiting_.push(child);
    }
  }

  void draw(const Box& box) {
    const Frame& frame = frames_.frames()[paths_[box.begin].frames[box.depth - 1]];
    const bool is_less = paths_[box.begin].is_less;
    const std::string sign = is_less ? kMinus : "";
    Accumulator cumulative;
    double self = 0;
    for (size_t i = box.begin; i < box.end; ++i) {
      cumulative.add(*paths_[i].stack);
      if (paths_[i].frames.size() == box.depth) self += paths_[i].value;
    }
    std::string name = frame.name;
    if (options_.by == GroupBy::kLine && frame.line > 0) name += ":" + std::to_string(frame.line);
    std::string says = short_name(name, kLongestTitle);
    const std::string place = frame.file.empty() ? frame.module : frame.file;
    if (!place.empty() && place != name) says += "\n" + short_name(place, kLongestTitle);
    says += "\n" + value_text(cumulative.estimate(options_.metric)) +
            fmt::format(", {}{:.1f} %", sign, 100 * box.value / whole_);
    if (self > 0) says += "\nitself: " + sign + format_metric(options_.metric, self);
    const double width = width_of(box.value);
    const double y = kTop + kRowHeight * static_cast<double>(box.depth - 1);
    fmt::format_to(
        std::back_inserter(boxes_),
        "<g class=\"box\"><title>{}</title><rect class=\"box\" x=\"{:.1f}\" y=\"{:.0f}\" width=\"{:.1f}\" "
        "height=\"{:.0f}\" fill=\"{}\"/>",
        lines(says), box.x, y, width, kRowHeight - 1, is_less ? kLessColor : color(frame));
    if (width >= kMinText + 4) {
      fmt::format_to(std::back_inserter(boxes_), "<text x=\"{:.1f}\" y=\"{:.0f}\">{}</text>", box.x + 3,
                     y + 12.5, sign + xml_text(fitting(name, width - 5 - (is_less ? kCharacter : 0))));
    }
    boxes_ += "</g>\n";
  }

  // Lines of ours, with names in them that may have line breaks of their own.
  static std::string lines(const std::string& text) {
    std::string out;
    for (size_t at = 0; at <= text.size();) {
      const size_t end = std::min(text.find('\n', at), text.size());
      out += (at == 0 ? "" : "\n") + xml_text(text.substr(at, end - at));
      at = end + 1;
    }
    return out;
  }

  std::string value_text(const Estimate& estimate) const {
    std::string text = signed_text(estimate.value);
    if (!metric_is_bytes(options_.metric)) text += " blocks";
    if (estimate.has_interval && estimate.low < estimate.high) {
      text += fmt::format(" (95 %: {} to {})", signed_text(estimate.low), signed_text(estimate.high));
    }
    return text;
  }

  std::string signed_text(double value) const {
    return (value < 0 ? kMinus : "") + format_metric(options_.metric, std::abs(value));
  }

  // One for each module, the same in every picture.
  static const char* color(const Frame& frame) {
    const std::string& key = frame.module.empty() ? frame.file : frame.module;
    if (key.empty()) return kUnknownColor;
    uint32_t hash = 2166136261U;
    for (const char c : key) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
    return kColors[(hash >> 8) % (sizeof(kColors) / sizeof(kColors[0]))];
  }

  std::string title() const {
    constexpr size_t kLongest = 100;
    return short_name(options_.name, kLongest) + ": " + metric_name(options_.metric);
  }

  std::string head() const {
    Accumulator total;
    for (const Path& path : paths_) total.add(*path.stack);
    const std::string parts = less_ == 0 ? ""
                                         : fmt::format("; {} more, and to the right {} less",
                                                       signed_text(more_), signed_text(less_));
    const std::string who = profile_.program.empty() ? "" : short_name(profile_.program, 60) + ", ";
    const std::string rate = !profile_.from_memprof ? "not written by memprof"
                             : profile_.rate_bytes <= 1
                                 ? "every allocation"
                                 : "one sample each " + format_rate(profile_.rate_bytes);
    return fmt::format(
        "<g class=\"head\"><text class=\"title\" x=\"{0}\" y=\"24\">{1}</text>"
        "<text x=\"{0}\" y=\"44\">{2}; {3}</text></g>\n",
        kMargin, xml_text(title()), xml_text(who + value_text(total.estimate(options_.metric)) + parts),
        rate);
  }

  const Profile& profile_;
  const FlameOptions& options_;
  const StackFrames frames_;
  std::vector<Path> paths_;
  double more_ = 0;
  double less_ = 0;   // its size
  double whole_ = 0;  // both
  std::priority_queue<Box> waiting_;
  std::string boxes_;
  size_t drawn_ = 0;
  size_t deepest_ = 0;
  size_t hidden_ = 0;
  double hidden_value_ = 0;
};

}  // namespace

std::string write_flame_svg(const Profile& profile, const FlameOptions& options) {
  return Flame(profile, options).write();
}

}  // namespace memprof::profile
