#include "stages/export/bert/bert_info.h"

#include <utility>

#include "base/json_fields.h"
#include "base/str.h"
#include "stages/tokenizer/tokenizer_layout.h"

namespace pipeline {

std::string BertInfoJson(const BertInfo& info, const Json& made) {
  Json json;
  json["max_seq_length"] = info.lengths.seq_len;
  json["max_predictions_per_seq"] = info.lengths.predictions;
  json["instances"] = made;
  json["tokenizer"] = ToJson(info.tokenizer);
  return json.DumpPretty();
}

Result<BertInfo> ParseBertInfo(std::string_view text) {
  Result<Json> json = Json::Parse(text);
  if (!json.ok()) return Status(Code::kDataLoss, StrCat("not JSON: ", json.status().message()));
  Status status;
  JsonFields fields(*json, "", status);
  BertInfo info;
  info.lengths.seq_len = fields.Number32("max_seq_length");
  info.lengths.predictions = fields.Number32("max_predictions_per_seq");
  if (!status.ok()) return status;
  ASSIGN_OR_RETURN(info.tokenizer, TokenizerFactsFromJson((*json)["tokenizer"]));
  return info;
}

Status CheckBertTokenizer(const TokenizerFacts& facts) {
  const auto refuse = [](std::string why) { return Status(Code::kFailedPrecondition, std::move(why)); };
  if (facts.layout != kBertLayout)
    return refuse(
        StrCat("a tokenizer of layout '", facts.layout,
               "' has no vocab.txt with [CLS], [SEP] and [MASK]; train one with `model: wordpiece` and "
               "`layout: bert`, or name a vocab.txt"));
  for (const auto& [piece, id] : {std::pair("[CLS]", facts.cls_id), std::pair("[SEP]", facts.sep_id),
                                  std::pair("[MASK]", facts.mask_id)})
    if (id < 0) return refuse(StrCat(facts.model, " has no piece ", piece, ", which examples of BERT need"));
  if (facts.pad_id != 0)
    return refuse(StrCat(facts.model, facts.pad_id < 0 ? " has no piece [PAD]" : " has [PAD] further down",
                         "; BERT pads with id 0, so [PAD] must be the first line"));
  return {};
}

}  // namespace pipeline
