// SPDX-License-Identifier: Apache-2.0
#include "memprof/console/console.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>

#include "memprof/console/failure.h"
#include "profile/text/text_writer.h"

namespace memprof::cli {
namespace {

constexpr size_t kMinWidth = 40;

// Returns 0 or an errno.
int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

}  // namespace

bool is_variable_set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

void print(std::string_view text) {
  if (const int error = write_all(STDOUT_FILENO, text); error != 0) {
    throw Failure("standard output: " + error_text(error));
  }
}

void complain(std::string_view line) {
  // Names of files and processes are in it.
  const std::string text = "memprof: " + profile::printable(std::string(line)) + "\n";
  // There is nowhere left to say that this failed.
  static_cast<void>(write_all(STDERR_FILENO, text));
}

bool is_output_terminal() {
  return isatty(STDOUT_FILENO) == 1;
}

size_t terminal_width() {
  size_t columns = 0;
  if (const char* text = std::getenv("COLUMNS"); text != nullptr) {
    const char* end = text + std::strlen(text);
    const auto [last, error] = std::from_chars(text, end, columns);
    if (error != std::errc() || last != end) columns = 0;
  }
  winsize size{};
  if (columns == 0 && is_output_terminal() && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) {
    columns = size.ws_col;
  }
  return columns == 0 ? 0 : std::max(columns, kMinWidth);
}

bool wants_utf8() {
  for (const char* variable : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* locale = std::getenv(variable);
    if (locale == nullptr || *locale == '\0') continue;
    std::string codeset;
    for (const char* c = locale; *c != '\0'; ++c) {
      if (*c != '-') codeset += static_cast<char>(std::tolower(static_cast<unsigned char>(*c)));
    }
    return codeset.find("utf8") != std::string::npos;
  }
  return false;
}

bool wants_color() {
  const char* terminal = std::getenv("TERM");
  return is_output_terminal() && !is_variable_set("NO_COLOR") && terminal != nullptr &&
         std::strcmp(terminal, "dumb") != 0;
}

std::string shell_word(const std::string& text) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::strchr("_-./,:@%+=", c) != nullptr;
  };
  bool plain = !text.empty();
  for (const char c : text) plain = plain && c != '\0' && is_plain(c);
  if (plain) return text;
  std::string word = "'";
  for (const char c : text) {
    if (c == '\'') {
      word += "'\\''";
    } else {
      word += c;
    }
  }
  return word + "'";
}

std::string error_text(int error) {
  std::string text = std::strerror(error);
  // "Is a directory", but not "I/O error".
  if (text.size() > 1 && text[0] >= 'A' && text[0] <= 'Z' && text[1] >= 'a' && text[1] <= 'z') {
    text[0] = static_cast<char>(text[0] - 'A' + 'a');
  }
  return text;
}

profile::TextOptions terminal_text_options() {
  profile::TextOptions text;
  text.width = terminal_width();
  text.has_color = wants_color();
  text.has_utf8 = wants_utf8();
  text.has_bars = is_output_terminal();
  return text;
}

}  // namespace memprof::cli
