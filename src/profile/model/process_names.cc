// SPDX-License-Identifier: Apache-2.0
#include "profile/model/process_names.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "format/programs/command_line.h"

namespace memprof::profile {
namespace {

constexpr size_t kMaxParts = 2;
constexpr size_t kMaxPartBytes = 40;
constexpr std::string_view kCut = "...";

bool is_option_alone(std::string_view argument) {
  return argument.size() > 1 && argument[0] == '-' && argument.find('=') == std::string_view::npos;
}

// Lines of code as one.
std::string in_one_line(std::string_view text) {
  std::string line;
  for (const char c : text) {
    const bool is_blank = static_cast<unsigned char>(c) <= ' ' || c == 0x7f;
    if (!is_blank) line += c;
    if (is_blank && !line.empty() && line.back() != ' ') line += ' ';
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

// Where a character begins, at `place` or before.
size_t character_at(std::string_view text, size_t place) {
  while (place > 0 && place < text.size() && (static_cast<unsigned char>(text[place]) & 0xc0) == 0x80)
    --place;
  return place;
}

// Of the first `common` bytes, which others have, too, nothing need be left; of a path its end is.
std::string shortened(const std::string& text, size_t common) {
  if (text.size() <= kMaxPartBytes) return text;
  std::string_view rest = text;
  std::string begin;
  const size_t word = rest.substr(0, common).find_last_of("/ ,;:=(&?") + 1;  // 0: there is none
  if (word > kCut.size()) {
    rest.remove_prefix(word);
    begin = kCut;
  }
  if (begin.size() + rest.size() <= kMaxPartBytes) return begin.append(rest);
  const size_t name = rest.find(' ') == std::string_view::npos ? rest.rfind('/') : std::string_view::npos;
  if (name != std::string_view::npos && name != 0) {
    rest.remove_prefix(name);
    begin = kCut;
  }
  if (begin.size() + rest.size() <= kMaxPartBytes) return begin.append(rest);
  rest = rest.substr(0, character_at(rest, kMaxPartBytes - begin.size() - kCut.size()));
  return begin.append(rest).append(kCut);
}

size_t common_length(const std::string& a, const std::string& b) {
  const size_t max = std::min(a.size(), b.size());
  return static_cast<size_t>(
      std::mismatch(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(max), b.begin()).first - a.begin());
}

// What it calls itself: a title, or the name that it was executed by.
std::string title_of(const CommandLine& process) {
  if (process.arguments.empty()) return "";
  const std::string title = in_one_line(process.arguments[0]);
  return title.find(' ') != std::string::npos ? title : title.substr(title.rfind('/') + 1);
}

// What the system calls it, where that is not its program's name, or the begin of that.
std::string name_of(const CommandLine& process) {
  const bool is_usual = process.program.compare(0, process.name.size(), process.name) == 0;
  return is_usual ? "" : in_one_line(process.name);
}

// Those of one program.
class Group {
 public:
  Group(const std::vector<CommandLine>& all, std::vector<std::string>* parts) : all_(all), parts_(*parts) {}

  void tell_apart(const std::vector<size_t>& members) {
    split(members, 1, kMaxParts);
    std::map<std::string, size_t> titles;
    for (const size_t member : members) ++titles[title_of(all_[member])];
    // Where it has fewer arguments than others, its title may be all that there is.
    for (const size_t member : members) {
      const std::string title = title_of(all_[member]);
      if (parts_[member].empty() && members.size() > 1 && titles[title] == 1)
        add(member, shortened(title, 0));
    }
  }

 private:
  using Text = std::function<std::string(const CommandLine&)>;

  void split(const std::vector<size_t>& members, size_t from, size_t parts_left) {
    if (members.size() < 2 || parts_left == 0) return;
    size_t end = 0;
    for (const size_t member : members) end = std::max(end, all_[member].arguments.size());
    for (size_t i = from; i < end; ++i) {
      std::map<std::string, std::vector<size_t>> values;
      for (const size_t member : members) values[argument(member, i)].push_back(member);
      if (values.size() > 1) return split_by_argument(values, i, parts_left);
    }
    if (split_by_text(members, title_of)) return;
    split_by_text(members, name_of);
  }

  // Empty where it has no such argument.
  std::string argument(size_t member, size_t i) const {
    const std::vector<std::string>& arguments = all_[member].arguments;
    return i < arguments.size() ? arguments[i] : "";
  }

  void split_by_argument(const std::map<std::string, std::vector<size_t>>& values, size_t i,
                         size_t parts_left) {
    size_t common = std::string::npos;
    std::set<std::string> lines;
    for (const auto& [value, members] : values) {
      if (!value.empty()) lines.insert(in_one_line(value));
    }
    for (const std::string& line : lines) common = std::min(common, common_length(line, *lines.begin()));
    for (const auto& [value, members] : values) {
      if (value.empty()) {
        split(members, i + 1, parts_left);
        continue;
      }
      for (const size_t member : members) add(member, with_its_option(member, i, common));
      split(members, i + 1 + (takes_next(members[0], i) ? 1 : 0), parts_left - 1);
    }
  }

  bool takes_next(size_t member, size_t i) const {
    const std::string next = argument(member, i + 1);
    return is_option_alone(argument(member, i)) && !next.empty() && next[0] != '-';
  }

  std::string with_its_option(size_t member, size_t i, size_t common) const {
    const std::string text = shortened(in_one_line(argument(member, i)), common);
    if (takes_next(member, i)) return text + " " + shortened(in_one_line(argument(member, i + 1)), 0);
    const std::string before = i > 1 ? argument(member, i - 1) : "";
    return is_option_alone(before) && text[0] != '-' ? shortened(before, 0) + " " + text : text;
  }

  bool split_by_text(const std::vector<size_t>& members, const Text& text) {
    std::set<std::string> values;
    for (const size_t member : members) values.insert(text(all_[member]));
    if (values.size() < 2) return false;
    for (const size_t member : members) add(member, shortened(text(all_[member]), 0));
    return true;
  }

  void add(size_t member, const std::string& part) {
    std::string& parts = parts_[member];
    if (part.empty()) return;
    parts += (parts.empty() ? "" : " ") + part;
  }

  const std::vector<CommandLine>& all_;
  std::vector<std::string>& parts_;
};

}  // namespace

CommandLine command_line_of(const std::string& program, std::string_view text) {
  CommandLine line;
  line.program = program;
  const auto next = [&text] {
    const size_t end = std::min(text.find(kCommandLineEnd), text.size());
    std::string part(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    return part;
  };
  line.name = next();
  while (!text.empty()) line.arguments.push_back(next());
  // What a title left of the space for the arguments.
  while (!line.arguments.empty() && line.arguments.back().empty()) line.arguments.pop_back();
  return line;
}

std::vector<std::string> tell_apart(const std::vector<CommandLine>& processes) {
  std::vector<std::string> parts(processes.size());
  std::map<std::string, std::vector<size_t>> programs;
  for (size_t i = 0; i < processes.size(); ++i) {
    if (!processes[i].arguments.empty()) programs[processes[i].program].push_back(i);
  }
  for (const auto& [program, members] : programs) Group(processes, &parts).tell_apart(members);
  return parts;
}

std::string process_label(const std::string& program, uint64_t pid, const std::string& told_apart,
                          unsigned number) {
  return (program.empty() ? "?" : program) + " " + std::to_string(pid) +
         (number > 1 ? " #" + std::to_string(number) : "") + (told_apart.empty() ? "" : ": " + told_apart);
}

std::string_view program_of_label(std::string_view label) {
  label = label.substr(0, label.find(": "));
  const size_t number = label.rfind(" #");
  const bool is_one_of_several = number != std::string_view::npos &&
                                 label.find_first_not_of("0123456789", number + 2) == std::string_view::npos;
  if (is_one_of_several) label = label.substr(0, number);
  return label.substr(0, label.rfind(' '));
}

}  // namespace memprof::profile
