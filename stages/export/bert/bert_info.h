// bert.json: describes how the examples beside it were made. Format: stages/export/bert/bert.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "stages/export/bert/bert.h"
#include "stages/tokenizer/tokenizer_facts.h"

namespace pipeline {

/// Prefix of the reason with which write_bert counts the instances of a split.
inline constexpr std::string_view kBertInstancesOf = "instances_of_";

struct BertInfo {
  BertLengths lengths;
  TokenizerFacts tokenizer;  // its model is kBertVocabularyFile
};

/// Formats the file. `made`: how the instances were made, for people.
std::string BertInfoJson(const BertInfo& info, const Json& made);
/// kDataLoss names the missing or wrong member.
Result<BertInfo> ParseBertInfo(std::string_view json);

/// OK if BERT can use the tokenizer; kFailedPrecondition tells what is missing.
Status CheckBertTokenizer(const TokenizerFacts& facts);

}  // namespace pipeline
