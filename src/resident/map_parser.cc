// SPDX-License-Identifier: Apache-2.0
#include "resident/map_parser.h"

#include <cstring>

namespace memprof::resident {
namespace {

int digit_of(char c) {
  return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// Takes digits from the front; false: there are none, or the number is too large.
bool take_number(std::string_view* text, int base, uint64_t* number) {
  *number = 0;
  size_t count = 0;
  for (; count < text->size(); ++count) {
    const int digit = digit_of((*text)[count]);
    if (digit < 0 || digit >= base) {
      break;
    }
    const auto value = static_cast<uint64_t>(digit);
    if (*number > (UINT64_MAX - value) / static_cast<uint64_t>(base)) {
      return false;
    }
    *number = *number * static_cast<uint64_t>(base) + value;
  }
  text->remove_prefix(count);
  return count != 0;
}

bool take(std::string_view* text, char c) {
  const bool is_there = !text->empty() && text->front() == c;
  text->remove_prefix(is_there ? 1 : 0);
  return is_there;
}

void skip_blanks(std::string_view* text) {
  while (take(text, ' ')) {
  }
}

// "KEY:   NUMBER kB"
bool parse_kilobytes(std::string_view line, std::string_view key, uint64_t* bytes) {
  if (line.substr(0, key.size()) != key) {
    return false;
  }
  line.remove_prefix(key.size());
  skip_blanks(&line);
  uint64_t kilobytes = 0;
  if (!take_number(&line, 10, &kilobytes) || kilobytes > UINT64_MAX / 1024) {
    return false;
  }
  *bytes = kilobytes * 1024;
  return true;
}

}  // namespace

void MapParser::feed(const char* text, size_t size) {
  constexpr size_t kTail = kMaxLine / 4;
  for (size_t i = 0; i < size; ++i) {
    if (text[i] == '\n') {
      end_line();
      continue;
    }
    if (size_ == kMaxLine) {
      // The name's end says which library it is, and its beginning what kind of file.
      std::memmove(line_ + kMaxLine - kTail, line_ + kMaxLine - kTail + 1, kTail - 1);
      line_[kMaxLine - 1] = text[i];
    } else {
      line_[size_++] = text[i];
    }
  }
}

void MapParser::finish() {
  end_line();
  give();
}

void MapParser::give() {
  if (has_mapping_) {
    use_(context_, mapping_);
  }
  has_mapping_ = false;
}

void MapParser::end_line() {
  const std::string_view line(line_, size_);
  size_ = 0;
  if (line.empty()) {
    return;
  }
  // Keys of smaps begin with a capital letter, addresses never do.
  if (line[0] >= 'A' && line[0] <= 'Z') {
    if (has_mapping_ && parse_kilobytes(line, "Rss:", &mapping_.resident_bytes)) {
      mapping_.has_resident = true;
    } else if (has_mapping_) {
      parse_kilobytes(line, "Swap:", &mapping_.swap_bytes);
    }
    return;
  }
  give();
  has_mapping_ = parse_mapping(line);
}

// START-LIMIT PERMISSIONS OFFSET MAJOR:MINOR INODE   NAME
bool MapParser::parse_mapping(std::string_view line) {
  Mapping m;
  if (!take_number(&line, 16, &m.start) || !take(&line, '-') || !take_number(&line, 16, &m.limit) ||
      !take(&line, ' ') || m.start >= m.limit || line.size() < 5) {
    return false;
  }
  m.is_readable = line[0] == 'r';
  m.is_writable = line[1] == 'w';
  m.is_executable = line[2] == 'x';
  m.is_shared = line[3] == 's';
  line.remove_prefix(4);
  uint64_t skipped = 0;
  if (!take(&line, ' ') || !take_number(&line, 16, &m.file_offset) || !take(&line, ' ') ||
      !take_number(&line, 16, &skipped) || !take(&line, ':') || !take_number(&line, 16, &skipped) ||
      !take(&line, ' ') || !take_number(&line, 10, &m.inode)) {
    return false;
  }
  skip_blanks(&line);
  std::memcpy(name_, line.data(), line.size());
  m.name = {name_, line.size()};
  mapping_ = m;
  return true;
}

}  // namespace memprof::resident
