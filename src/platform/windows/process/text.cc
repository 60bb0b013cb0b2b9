// SPDX-License-Identifier: Apache-2.0
#include "platform/windows/process/text.h"

namespace memprof::platform {
namespace {

constexpr uint32_t kReplacement = 0xfffd;

uint32_t next_of_utf16(const wchar_t* text, size_t length, size_t* at) {
  const uint32_t unit = static_cast<uint16_t>(text[(*at)++]);
  if (unit < 0xd800 || unit > 0xdfff) {
    return unit;
  }
  if (unit < 0xdc00 && *at < length) {
    const uint32_t low = static_cast<uint16_t>(text[*at]);
    if (low >= 0xdc00 && low <= 0xdfff) {
      ++*at;
      return 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
    }
  }
  return kReplacement;
}

size_t put_utf8(uint32_t c, char* out) {
  if (c < 0x80) {
    out[0] = static_cast<char>(c);
    return 1;
  }
  const size_t more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
  constexpr uint8_t kFirst[] = {0, 0xc0, 0xe0, 0xf0};
  out[0] = static_cast<char>(kFirst[more] | (c >> (6 * more)));
  for (size_t i = 1; i <= more; ++i) {
    out[i] = static_cast<char>(0x80 | ((c >> (6 * (more - i))) & 0x3f));
  }
  return more + 1;
}

uint32_t next_of_utf8(const uint8_t** at) {
  const uint8_t first = *(*at)++;
  if (first < 0x80) {
    return first;
  }
  const size_t more = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : first >= 0xc2 ? 1 : 0;
  uint32_t c = first & (0x3f >> more);
  for (size_t i = 0; i < more; ++i) {
    if ((**at & 0xc0) != 0x80) {
      return kReplacement;
    }
    c = (c << 6) | (*(*at)++ & 0x3f);
  }
  const bool is_surrogate = c >= 0xd800 && c <= 0xdfff;
  return more == 0 || c > 0x10ffff || is_surrogate ? kReplacement : c;
}

bool is_letter(wchar_t c) {
  return (c >= L'a' && c <= L'z') || (c >= L'A' && c <= L'Z');
}

}  // namespace

size_t to_utf8(const wchar_t* text, size_t length, char* out, size_t size_bytes) {
  size_t written = 0;
  for (size_t at = 0; at < length && size_bytes != 0;) {
    char bytes[4];
    const size_t count = put_utf8(next_of_utf16(text, length, &at), bytes);
    if (written + count >= size_bytes) {
      break;
    }
    for (size_t i = 0; i < count; ++i) {
      out[written++] = bytes[i];
    }
  }
  if (size_bytes != 0) {
    out[written] = '\0';
  }
  return written;
}

size_t path_to_utf8(const wchar_t* path, size_t length, char* out, size_t size_bytes) {
  const size_t written = to_utf8(path, length, out, size_bytes);
  for (size_t i = 0; i < written; ++i) {
    out[i] = out[i] == '\\' ? '/' : out[i];
  }
  return written;
}

size_t to_utf16(const char* text, wchar_t* out, size_t units) {
  size_t written = 0;
  for (auto at = reinterpret_cast<const uint8_t*>(text); *at != 0;) {
    const uint32_t c = next_of_utf8(&at);
    const size_t count = c < 0x10000 ? 1 : 2;
    if (written + count >= units) {
      break;
    }
    if (count == 1) {
      out[written++] = static_cast<wchar_t>(c);
    } else {
      out[written++] = static_cast<wchar_t>(0xd800 + ((c - 0x10000) >> 10));
      out[written++] = static_cast<wchar_t>(0xdc00 + ((c - 0x10000) & 0x3ff));
    }
  }
  if (units != 0) {
    out[written] = L'\0';
  }
  return written;
}

WidePath::WidePath(const char* path) {
  constexpr wchar_t kPrefix[] = L"\\\\?\\";
  constexpr size_t kPrefixUnits = 4;
  constexpr size_t kLong = 240;
  const size_t length = to_utf16(path, text, kUnits);
  // Only what needs no "current folder" and is no share: "C:\..." or "C:/...".
  if (length < kLong || !is_letter(text[0]) || text[1] != L':' || (text[2] != L'\\' && text[2] != L'/')) {
    return;
  }
  for (size_t i = length + 1; i-- > 0;) {
    text[i + kPrefixUnits] = text[i] == L'/' ? L'\\' : text[i];
  }
  for (size_t i = 0; i < kPrefixUnits; ++i) {
    text[i] = kPrefix[i];
  }
}

}  // namespace memprof::platform
