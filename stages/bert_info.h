// bert.json: what the examples were made with, beside them. Format: formats/bert.md.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "formats/bert.h"
#include "stages/tokenizer_facts.h"

namespace pipeline {

/// Begins the reason by which write_bert counts the instances of a split.
inline constexpr std::string_view kBertInstancesOf = "instances_of_";

struct BertInfo {
  BertLengths lengths;
  TokenizerFacts tokenizer;  // its model is kBertVocabularyFile
};

/// The bytes of the file. `made` says how the instances were made, for people.
std::string BertInfoJson(const BertInfo& info, const Json& made);
/// kDataLoss naming the member that is missing or wrong.
Result<BertInfo> ParseBertInfo(std::string_view json);

/// OK where BERT can use the tokenizer; kFailedPrecondition saying what it lacks.
Status CheckBertTokenizer(const TokenizerFacts& facts);

}  // namespace pipeline
