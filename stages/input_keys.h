// The keys that stages which read files have in common.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "formats/line_cutter.h"
#include "records/source.h"
#include "spec/config.h"
#include "stages/decoded_input.h"
#include "stages/utf8_repair.h"

namespace pipeline {

/// `subset`: see spec/subset.h.
ConfigKey SubsetKey();

/// What the bytes of the inputs are. `compression_key` is what the stage calls that key.
std::vector<ConfigKey> InputKeys(std::string_view compression_key);
InputRules InputRulesOf(const Json& config, std::string_view compression_key);
Status CheckInputKeys(const Json& config);

/// `partition`, `max_record_bytes` and `invalid_utf8`, as far as the configuration has them.
Status CheckCutKeys(const Json& config);
void ReadCutKeys(const Json& config, LineRules& rules);
InvalidUtf8 InvalidUtf8Of(const Json& config);

/// `max_bad_rows`, of stages that have `on_bad_row`.
ConfigKey MaxBadRowsKey();
Status CheckMaxBadRows(const Json& config);
FaultBound BadRowsBound(const Json& config, std::vector<std::string_view> reasons);

/// `invalid_lines`, of stages that have InputKeys and repair UTF-8 by Utf8Repair's reasons; absent where
/// `invalid_utf8` is a failure.
std::optional<FaultBound> InvalidLinesBound(const Json& config);

}  // namespace pipeline
