// The keys shared by the stages that read files.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dag/pipeline_file/config.h"
#include "dag/records/source.h"
#include "formats/line_cutter.h"
#include "stages/lines/utf8_repair.h"
#include "stages/sources/decoded_input.h"

namespace pipeline {

/// `subset`: see dag/pipeline_file/subset.h.
ConfigKey SubsetKey();
/// The key of the reading rules of sources of text.
ConfigKey TextRulesKey();

/// The keys about the bytes of the inputs. `compression_key`: the stage's name for that key.
std::vector<ConfigKey> InputKeys(std::string_view compression_key);
InputRules InputRulesOf(const Json& config, std::string_view compression_key);
Status CheckInputKeys(const Json& config);

/// The keys `partition`, `max_record_bytes` and `invalid_utf8`, if the configuration has them.
Status CheckCutKeys(const Json& config);
void ReadCutKeys(const Json& config, LineRules& rules);
InvalidUtf8 InvalidUtf8Of(const Json& config);

/// `columns`, for stages that have it: several texts become fields of one record, not lines of a document.
bool AreFields(const Json& config);

/// `max_bad_rows`, for stages that have `on_bad_row`.
ConfigKey MaxBadRowsKey();
Status CheckMaxBadRows(const Json& config);
/// `advice`: about reasons other than `long_quarantined`.
FaultBound BadRowsBound(
    const Json& config, std::vector<std::string_view> reasons,
    std::function<std::string(std::string_view reason, std::string_view sample)> advice = {});

/// The reason for a row that has none of the columns of text. Such a row may have lost its text, or never had
/// any: half of all rows is an error, and a tenth is told.
inline constexpr std::string_view kNoText = "dropped_no_text";
FaultBound NoTextBound(const Json& config, std::function<std::string(std::string_view sample)> advice);

/// For stages that set long lines aside: nothing is too much, but much is told.
FaultBound LongLinesBound(const Json& config);

/// `invalid_lines`, for stages with InputKeys that repair UTF-8 with the reasons of Utf8Repair; absent:
/// `invalid_utf8` is a failure.
std::optional<FaultBound> InvalidLinesBound(const Json& config);

}  // namespace pipeline
