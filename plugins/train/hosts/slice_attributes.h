// Attributes of the metadata server of a TPU VM that tell of its slice.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace pipeline {

/// The value of `key` in the attribute `tpu-env`: lines such as MEGASCALE_NUM_SLICES: '2'. The value is a
/// part of `text`, without spaces and quotes around it. Absent: there is no such line, or its value is empty.
/// The last of several lines counts, as it does for JAX. Other lines may be anything.
std::optional<std::string_view> FindInTpuEnv(std::string_view text, std::string_view key);

/// The hosts of the slice in the attribute `worker-network-endpoints`. Parses both forms, also mixed:
/// "HOST,HOST" of newer machines and "NAME:ID:ADDRESS,…" of older ones, where NAME and ID are mostly
/// "unknown". An entry that is an IPv6 address as a whole is that address. The order is that of the workers.
/// kInvalidArgument gives the reason alone.
Result<std::vector<std::string>> ParseWorkerEndpoints(std::string_view text);

}  // namespace pipeline
