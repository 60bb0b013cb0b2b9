// SPDX-License-Identifier: Apache-2.0
#include "memprof/help/man_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "memprof/help/help_text.h"

namespace memprof::cli {
namespace {

// A text as roff sets it: a backslash, a dash and what begins a line like a request are written otherwise.
std::string escaped(const std::string& text) {
  std::string out;
  bool is_begin = true;
  for (const char c : text) {
    if (is_begin && (c == '.' || c == '\'')) out += "\\&";
    is_begin = c == '\n';
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

// With its own lines.
std::string as_it_is(const std::string& text) {
  return ".nf\n" + escaped(text) + (text.empty() || text.back() == '\n' ? "" : "\n") + ".fi\n";
}

// Filled; lines that begin with a space as they are.
std::string filled(const std::string& text) {
  std::string out;
  bool is_fixed = false;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    const bool fixed = !line.empty() && line[0] == ' ';
    if (fixed != is_fixed) out += fixed ? ".nf\n" : ".fi\n";
    is_fixed = fixed;
    out += line.empty() ? ".PP\n" : escaped(line) + "\n";
  }
  return out + (is_fixed ? ".fi\n" : "");
}

std::string title(std::string name, const std::string& version) {
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::toupper(c); });
  return fmt::format(".TH {} 1 \"\" \"memprof {}\" \"memprof\"\n", escaped(name), version);
}

}  // namespace

std::string man_page(const CommandText& command, const std::vector<CommandText>& all,
                     const std::string& version) {
  const HelpText& help = command.description.help;
  const std::string name = "memprof-" + command.description.command;
  std::string out = title(name, version);
  out += ".SH NAME\n" + escaped(name) + " \\- " + escaped(command.purpose) + "\n.SH SYNOPSIS\n" +
         as_it_is(help.usage);
  out += ".SH DESCRIPTION\n" + filled(help.brief);
  if (!help.more.empty()) out += ".PP\n" + filled(help.more);
  std::string options;
  for (const OptionText& option : command.description.options) {
    if (option.shown == OptionText::Shown::kNowhere) continue;
    options += ".TP\n.B " + escaped(heading_of(option)) + "\n" + filled(option.text);
  }
  if (!options.empty()) out += ".SH OPTIONS\n" + options;
  if (!help.end.empty()) out += ".SH NOTES\n" + as_it_is(help.end);
  out += ".SH SEE ALSO\n.BR memprof (1)";
  for (const CommandText& other : all) {
    if (other.description.command != command.description.command) {
      out += ",\n.BR " + escaped("memprof-" + other.description.command) + " (1)";
    }
  }
  return out + "\n";
}

std::string man_page_of_all(const std::string& about, const std::vector<CommandText>& all,
                            const std::string& version) {
  std::string out = title("memprof", version);
  out +=
      ".SH NAME\nmemprof \\- which code holds a program's memory\n.SH SYNOPSIS\n.B memprof\n.I COMMAND\n[OPTIONS]\n";
  out += ".SH DESCRIPTION\n" + filled(about) + ".SH COMMANDS\n";
  for (const CommandText& command : all) {
    out +=
        ".TP\n.BR " + escaped("memprof-" + command.description.command) + " (1)\n" + filled(command.purpose);
  }
  return out +
         ".SH EXIT STATUS\n0, or what the command says; 2 for wrong use and what cannot be read or written.\n";
}

}  // namespace memprof::cli
