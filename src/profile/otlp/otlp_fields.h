// SPDX-License-Identifier: Apache-2.0
// The field numbers of OpenTelemetry's profiles signal (v1development) as opentelemetry-proto 1.11.0 has them.  Those of
// 1.10.0 are the same; before it a sample's fields have other numbers.
//
// Format: https://github.com/open-telemetry/opentelemetry-proto/tree/v1.11.0/opentelemetry/proto, in it
// collector/profiles/v1development, profiles/v1development, resource/v1 and common/v1
#pragma once

#include <protozero/types.hpp>

namespace memprof::profile::otlp {

namespace request_field {
enum : protozero::pbf_tag_type { kResourceProfiles = 1, kDictionary = 2 };
}
namespace response_field {
enum : protozero::pbf_tag_type { kPartialSuccess = 1 };
}
namespace partial_success_field {
enum : protozero::pbf_tag_type { kRejectedProfiles = 1, kErrorMessage = 2 };
}
// google.rpc.Status, the body of an answer that is no success.
namespace status_field {
enum : protozero::pbf_tag_type { kMessage = 2 };
}
namespace dictionary_field {
enum : protozero::pbf_tag_type {
  kMappingTable = 1,
  kLocationTable = 2,
  kFunctionTable = 3,
  kLinkTable = 4,
  kStringTable = 5,
  kAttributeTable = 6,
  kStackTable = 7,
};
}
namespace resource_profiles_field {
enum : protozero::pbf_tag_type { kResource = 1, kScopeProfiles = 2 };
}
namespace resource_field {
enum : protozero::pbf_tag_type { kAttributes = 1 };
}
namespace scope_profiles_field {
enum : protozero::pbf_tag_type { kScope = 1, kProfiles = 2 };
}
namespace scope_field {
enum : protozero::pbf_tag_type { kName = 1, kVersion = 2 };
}
namespace profile_field {
enum : protozero::pbf_tag_type {
  kSampleType = 1,
  kSamples = 2,
  kTimeUnixNano = 3,
  kDurationNano = 4,
  kPeriodType = 5,
  kPeriod = 6,
  kProfileId = 7,
};
}
namespace value_type_field {
enum : protozero::pbf_tag_type { kType = 1, kUnit = 2 };
}
namespace sample_field {
enum : protozero::pbf_tag_type { kStackIndex = 1, kAttributeIndices = 2, kValues = 4 };
}
namespace mapping_field {
enum : protozero::pbf_tag_type {
  kMemoryStart = 1,
  kMemoryLimit = 2,
  kFileOffset = 3,
  kFilename = 4,
  kAttributeIndices = 5,
};
}
namespace stack_field {
enum : protozero::pbf_tag_type { kLocationIndices = 1 };
}
namespace location_field {
enum : protozero::pbf_tag_type { kMappingIndex = 1, kAddress = 2, kLines = 3 };
}
namespace line_field {
enum : protozero::pbf_tag_type { kFunctionIndex = 1, kLine = 2 };
}
namespace function_field {
enum : protozero::pbf_tag_type { kName = 1, kSystemName = 2, kFilename = 3, kStartLine = 4 };
}
namespace link_field {
enum : protozero::pbf_tag_type { kTraceId = 1, kSpanId = 2 };
}
// An attribute of the dictionary; its unit is not written.
namespace dictionary_attribute_field {
enum : protozero::pbf_tag_type { kKey = 1, kValue = 2 };
}
// An attribute of a resource, with the key and the value in place (decision 0147).
namespace key_value_field {
enum : protozero::pbf_tag_type { kKey = 1, kValue = 2 };
}
namespace any_value_field {
enum : protozero::pbf_tag_type { kString = 1, kInt = 3 };
}

}  // namespace memprof::profile::otlp
