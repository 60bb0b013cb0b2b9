// SPDX-License-Identifier: Apache-2.0
// The field numbers of profile.proto and the texts that every profile of memprof has, for all who read or
// write one.
//
// Format: https://github.com/google/pprof/blob/main/proto/profile.proto
#pragma once

#include <cstddef>
#include <cstdint>

namespace memprof::profile::schema {

namespace profile_field {
enum : uint32_t {
  kSampleType = 1,
  kSample = 2,
  kMapping = 3,
  kLocation = 4,
  kFunction = 5,
  kStringTable = 6,
  kDropFrames = 7,
  kKeepFrames = 8,
  kTimeNanos = 9,
  kDurationNanos = 10,
  kPeriodType = 11,
  kPeriod = 12,
  kComment = 13,
  kDefaultSampleType = 14,
  kDocUrl = 15,
};
}
namespace value_type_field {
enum : uint32_t { kType = 1, kUnit = 2 };
}
namespace sample_field {
enum : uint32_t { kLocationId = 1, kValue = 2, kLabel = 3 };
}
namespace label_field {
enum : uint32_t { kKey = 1, kText = 2, kNumber = 3, kUnit = 4 };
}
namespace mapping_field {
enum : uint32_t {
  kId = 1,
  kStart = 2,
  kLimit = 3,
  kFileOffset = 4,
  kFilename = 5,
  kBuildId = 6,
  kHasFunctions = 7,
  kHasFilenames = 8,
  kHasLineNumbers = 9,
  kHasInlineFrames = 10,
};
}
namespace location_field {
enum : uint32_t { kId = 1, kMappingId = 2, kAddress = 3, kLine = 4, kIsFolded = 5 };
}
namespace line_field {
enum : uint32_t { kFunctionId = 1, kLine = 2 };
}
namespace function_field {
enum : uint32_t { kId = 1, kName = 2, kSystemName = 3, kFilename = 4, kStartLine = 5 };
}

// The string table of our profiles begins with these, so that their indices are constants.
enum FixedString : uint32_t {
  kEmpty,
  kAllocObjects,
  kAllocSpace,
  kInuseObjects,
  kInuseSpace,
  kPeakObjects,
  kPeakSpace,
  kCount,
  kBytes,
  kSpace,
  kRate,
  kSamples,
  kDropFrames,
  kHeap,
  kProcess,
  kFixedStringCount,
};

// The allocator's own functions, and those that an allocator reports through (inlined into it): pprof removes
// them, and what they call, from the leaf end of a stack.
inline constexpr char kDropFramesRegex[] =
    "malloc|calloc|realloc|reallocarray|posix_memalign|aligned_alloc|memalign|valloc|pvalloc|"
    "__libc_(malloc|calloc|realloc|memalign|valloc|pvalloc)|"
    "operator new(\\[\\])?( ?\\(.*\\))?|_Zn[aw][jmy].*|memprof_report_(re)?alloc(_end|_inline)?";

// In the order of FixedString.
inline constexpr const char* kFixedStrings[kFixedStringCount] = {
    "",       "alloc_objects", "alloc_space", "inuse_objects", "inuse_space", "peak_objects",   "peak_space",
    "count",  "bytes",         "space",       "rate",          "samples",     kDropFramesRegex, "heap",
    "process"};

// The functions of the locations that stand for frames: in the middle of a deep stack, and of older stacks,
// whose detail went when the table of stacks was full.  By the addresses that stacks have there.
inline constexpr char kFramesLeftOutName[] = "[frames left out]";
inline constexpr char kOlderStacksName[] = "[older stacks]";
inline constexpr char kOlderModulesName[] = "[older modules]";
inline constexpr const char* kGapNames[] = {nullptr, kFramesLeftOutName, kOlderStacksName, kOlderModulesName};
inline constexpr uint64_t kMaxGap = sizeof(kGapNames) / sizeof(kGapNames[0]) - 1;
constexpr bool is_gap(uint64_t address) {
  return address != 0 && address <= kMaxGap;
}
template <typename Text>
bool is_gap_name(const Text& name) {
  return name == kFramesLeftOutName || name == kOlderStacksName || name == kOlderModulesName;
}

// Where a function's two names are the same, pprof takes it for C++ and cuts what stands in these brackets:
// nothing is left of `<module>`.  Such a name is written without a system name, and read back as both.
constexpr bool is_cut_by_pprof(const char* name, size_t size) {
  for (size_t i = 0; i < size; ++i) {
    if (name[i] == '<' || name[i] == '(') return true;
  }
  return false;
}

inline constexpr size_t kFirstValueCount = 4;  // without those of the peak
inline constexpr size_t kValueCount = 6;       // sample types, in the order of Metric
// Those of the program's own mappings come behind them, in profiles of processes whose mappings were recorded.
inline constexpr size_t kMappedCount = 4;
inline constexpr const char* kMappedNames[kMappedCount] = {
    "mapped_objects", "mapped_space", "mapped_resident_objects", "mapped_resident_space"};
// How many of them a profile has: what is resident is there where it was measured.
constexpr size_t mapped_count(bool has_mapped, bool has_resident) {
  if (!has_mapped) return 0;
  return has_resident ? kMappedCount : kMappedCount / 2;
}
// And, where what is in memory was looked at: of live blocks those with a page in memory, and the bytes of their pages.
inline constexpr size_t kResidentCount = 2;
inline constexpr const char* kResidentNames[kResidentCount] = {"inuse_resident_objects",
                                                               "inuse_resident_space"};
// Last, that of the runtime's own heap, in profiles by somebody who asked the runtime for it.
inline constexpr char kJsName[] = "js_space";

}  // namespace memprof::profile::schema
