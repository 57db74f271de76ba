// The share of a data set that a trainer drops because lines are too long, as text for `verify` and the
// report.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "cli/report/run_record.h"
#include "dag/records/schema.h"
#include "stages/verify/verify_artifact.h"
#include "stages/verify/verify_object.h"

namespace pipeline {

/// Reads --tokenizer (a SentencePiece model, or the directory of one that a stage trained) and --max-tokens
/// (0: none). kInvalidArgument, kNotFound or kDataLoss with the reason.
Result<LengthFilter> ReadLengthFilter(const std::string& tokenizer, std::uint64_t max_tokens,
                                      std::stop_token stop);

/// "a trainer that drops lines of more than 128 tokens drops 2 of 9 lines (22.2 %) and 300 of 500 tokens
/// (60 %)"; empty: nothing was counted.
std::string LengthLossLine(const VerifyReport& report);

/// RecordedStage::longest_line for a stage with this configuration.
std::string LongestLineOf(std::string_view type, const Json& config, const Schema& schema);

/// As LengthLossLine for the data sets that a run published, in HTML: one sentence each.
std::string LengthLossHtml(const RunRecord& record);

}  // namespace pipeline
