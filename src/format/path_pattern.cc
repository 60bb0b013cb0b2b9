// SPDX-License-Identifier: Apache-2.0
#include "format/path_pattern.h"

#include <cstring>

namespace memprof {

size_t format_decimal(uint64_t value, char* digits) {
  char reversed[20];
  size_t length = 0;
  do {
    reversed[length++] = static_cast<char>('0' + value % 10);
    value /= 10;
  } while (value != 0);
  for (size_t i = 0; i < length; ++i) {
    digits[i] = reversed[length - 1 - i];
  }
  digits[length] = '\0';
  return length;
}

namespace {

// The next percent sign of a pattern; nullptr: there is none.
const char* find_fact(const char* pattern) {
  return strchr(pattern, '%');
}

void make_file_name(char* name, size_t length) {
  bool is_folder = length == 1 || length == 2;  // "." or ".."
  for (size_t i = 0; i < length; ++i) {
    is_folder = is_folder && name[i] == '.';
    const auto byte = static_cast<unsigned char>(name[i]);
    name[i] = byte == '/' || byte < 0x20 || byte == 0x7f ? '_' : name[i];
  }
  if (is_folder) {
    memset(name, '_', length);
  }
}

}  // namespace

const char* find_wrong_fact(const char* pattern) {
  for (const char* at = find_fact(pattern); at != nullptr; at = find_fact(at + 2)) {
    if (at[1] == '\0' || strchr("pnt%", at[1]) == nullptr) {
      return at;
    }
  }
  return nullptr;
}

bool has_fact(const char* pattern, char letter) {
  for (const char* at = find_fact(pattern); at != nullptr && at[1] != '\0'; at = find_fact(at + 2)) {
    if (at[1] == letter) {
      return true;
    }
  }
  return false;
}

bool expand_path(const char* pattern, uint64_t process_id, const char* program_name, uint64_t time_s,
                 char* path, size_t path_bytes) {
  size_t at = 0;
  const auto append = [&](const char* text, size_t length) {
    if (length >= path_bytes - at) {  // the NUL needs a place
      return false;
    }
    memcpy(path + at, text, length);
    at += length;
    return true;
  };
  if (path_bytes == 0) {
    return false;
  }
  for (const char* p = pattern; *p != '\0'; ++p) {
    bool fits = false;
    char digits[21];
    if (*p != '%') {
      fits = append(p, 1);
    } else {
      switch (*++p) {
        case 'p':
          fits = append(digits, format_decimal(process_id, digits));
          break;
        case 't':
          fits = append(digits, format_decimal(time_s, digits));
          break;
        case 'n': {
          const size_t start = at;
          fits = append(program_name, strlen(program_name));
          make_file_name(path + start, at - start);
          break;
        }
        case '%':
          fits = append("%", 1);
          break;
        default:
          return false;
      }
    }
    if (!fits) {
      return false;
    }
  }
  path[at] = '\0';
  return true;
}

}  // namespace memprof
