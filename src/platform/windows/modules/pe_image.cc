// SPDX-License-Identifier: Apache-2.0
#include "platform/windows/modules/pe_image.h"

#include <cstring>

#include "platform/windows/system.h"

namespace memprof::platform {
namespace {

const IMAGE_NT_HEADERS64* headers_of(const void* headers) {
  return static_cast<const IMAGE_NT_HEADERS64*>(headers);
}

IMAGE_DATA_DIRECTORY directory(const void* headers, uint32_t index) {
  const IMAGE_OPTIONAL_HEADER64& optional = headers_of(headers)->OptionalHeader;
  return index < optional.NumberOfRvaAndSizes ? optional.DataDirectory[index] : IMAGE_DATA_DIRECTORY{0, 0};
}

// What a debug directory of kind CodeView points to.
struct CodeView {
  uint32_t signature;  // RSDS
  uint8_t guid[16];
  uint8_t age[4];
};
constexpr uint32_t kRsds = 0x53445352;

}  // namespace

bool PeImage::open(uint64_t start) {
  *this = PeImage();
  const auto dos = reinterpret_cast<const IMAGE_DOS_HEADER*>(start);
  if (dos->e_magic != IMAGE_DOS_SIGNATURE || dos->e_lfanew <= 0 || dos->e_lfanew > 4096) {
    return false;
  }
  const auto headers =
      reinterpret_cast<const IMAGE_NT_HEADERS64*>(start + static_cast<uint32_t>(dos->e_lfanew));
  if (headers->Signature != IMAGE_NT_SIGNATURE ||
      headers->OptionalHeader.Magic != IMAGE_NT_OPTIONAL_HDR64_MAGIC) {
    return false;
  }
  start_ = start;
  size_bytes_ = headers->OptionalHeader.SizeOfImage;
  headers_ = headers;
  const IMAGE_DATA_DIRECTORY exceptions = directory(headers, IMAGE_DIRECTORY_ENTRY_EXCEPTION);
  const uint32_t count = exceptions.Size / sizeof(FunctionRange);
  functions_ = at<FunctionRange>(exceptions.VirtualAddress, count);
  function_count_ = functions_ != nullptr ? count : 0;
  return true;
}

uint32_t PeImage::read_build_id(uint8_t* id, uint32_t max_bytes) const {
  constexpr uint32_t kPdbBytes = sizeof(CodeView::guid) + sizeof(CodeView::age);
  const IMAGE_DATA_DIRECTORY debug = directory(headers_, IMAGE_DIRECTORY_ENTRY_DEBUG);
  const uint32_t count = debug.Size / sizeof(IMAGE_DEBUG_DIRECTORY);
  const auto* entries = at<IMAGE_DEBUG_DIRECTORY>(debug.VirtualAddress, count);
  for (uint32_t i = 0; entries != nullptr && i < count && max_bytes >= kPdbBytes; ++i) {
    const auto* view =
        entries[i].Type == IMAGE_DEBUG_TYPE_CODEVIEW ? at<CodeView>(entries[i].AddressOfRawData) : nullptr;
    if (view != nullptr && view->signature == kRsds) {
      memcpy(id, view->guid, sizeof(view->guid));
      memcpy(id + sizeof(view->guid), view->age, sizeof(view->age));
      return kPdbBytes;
    }
  }
  const uint32_t stamp = headers_of(headers_)->FileHeader.TimeDateStamp;
  const auto size = static_cast<uint32_t>(size_bytes_);
  if (max_bytes < sizeof(stamp) + sizeof(size)) {
    return 0;
  }
  memcpy(id, &stamp, sizeof(stamp));
  memcpy(id + sizeof(stamp), &size, sizeof(size));
  return sizeof(stamp) + sizeof(size);
}

uint64_t PeImage::find_export(const char* name) const {
  const IMAGE_DATA_DIRECTORY where = directory(headers_, IMAGE_DIRECTORY_ENTRY_EXPORT);
  const auto* table = at<IMAGE_EXPORT_DIRECTORY>(where.VirtualAddress);
  if (table == nullptr) {
    return 0;
  }
  const auto* names = at<uint32_t>(table->AddressOfNames, table->NumberOfNames);
  const auto* ordinals = at<uint16_t>(table->AddressOfNameOrdinals, table->NumberOfNames);
  const auto* functions = at<uint32_t>(table->AddressOfFunctions, table->NumberOfFunctions);
  for (uint32_t i = 0;
       names != nullptr && ordinals != nullptr && functions != nullptr && i < table->NumberOfNames; ++i) {
    const char* candidate = at<char>(names[i]);
    if (candidate == nullptr || strcmp(candidate, name) != 0 || ordinals[i] >= table->NumberOfFunctions) {
      continue;
    }
    const uint32_t offset = functions[ordinals[i]];
    const bool is_forwarded = offset - where.VirtualAddress < where.Size;
    return offset != 0 && !is_forwarded ? start_ + offset : 0;
  }
  return 0;
}

const char* PeImage::export_at(uint64_t address, uint64_t* start) const {
  const IMAGE_DATA_DIRECTORY where = directory(headers_, IMAGE_DIRECTORY_ENTRY_EXPORT);
  const auto* table = at<IMAGE_EXPORT_DIRECTORY>(where.VirtualAddress);
  const auto* names = table != nullptr ? at<uint32_t>(table->AddressOfNames, table->NumberOfNames) : nullptr;
  const auto* ordinals =
      table != nullptr ? at<uint16_t>(table->AddressOfNameOrdinals, table->NumberOfNames) : nullptr;
  const auto* functions =
      table != nullptr ? at<uint32_t>(table->AddressOfFunctions, table->NumberOfFunctions) : nullptr;
  if (names == nullptr || ordinals == nullptr || functions == nullptr) {
    return nullptr;
  }
  const uint64_t wanted = address - start_;
  const char* best = nullptr;
  uint64_t best_offset = 0;
  for (uint32_t i = 0; i < table->NumberOfNames; ++i) {
    const uint32_t offset = ordinals[i] < table->NumberOfFunctions ? functions[ordinals[i]] : 0;
    if (offset <= wanted && offset > best_offset && offset - where.VirtualAddress >= where.Size) {
      best = at<char>(names[i]);
      best_offset = offset;
    }
  }
  *start = start_ + best_offset;
  return best;
}

const FunctionRange* find_function(const FunctionRange* functions, uint32_t count, uint32_t offset) {
  uint32_t low = 0;
  while (count > 0) {
    const uint32_t half = count / 2;
    if (functions[low + half].begin <= offset) {
      low += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  return low != 0 && offset < functions[low - 1].end ? &functions[low - 1] : nullptr;
}

}  // namespace memprof::platform
