#include "stages/export/packed/label_answers.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "base/str.h"
#include "stages/export/packed/packed_labels.h"
#include "stages/lines/labels.h"
#include "text/sentencepiece/line_codec.h"
#include "text/utf8.h"

namespace pipeline {

namespace {

class LabelWorker final : public Worker {
 public:
  explicit LabelWorker(const RecordLabels& labels) : labels_(labels) {}

  Status Apply(Batch& batch, std::uint32_t stage, StageCounts& counts) override {
    return labels_.Keep(batch, stage, counts);
  }

 private:
  const RecordLabels& labels_;
};

class NamedLabels final : public RecordLabels {
 public:
  NamedLabels(LabelAnswers answers, const std::vector<std::string>& names, bool fails)
      : answers_(std::move(answers)), numbers_(names, fails) {}

  std::vector<PackedLabel> named() const override {
    std::vector<PackedLabel> labels;
    for (const LabelAnswer& answer : answers_) labels.push_back(answer.label);
    return labels;
  }
  std::size_t longest() const override {
    std::size_t longest = 0;
    for (const LabelAnswer& answer : answers_) longest = std::max(longest, answer.label.ids.size());
    return longest;
  }
  Status Keep(Batch& batch, std::uint32_t stage, StageCounts& counts) const override {
    std::vector<std::uint32_t> of_rows;
    return numbers_.Number(batch, stage, counts, of_rows);
  }
  Result<LabelAnswer> Answer(std::string_view label) const override {
    const std::optional<std::uint32_t> number = numbers_.Of(label);
    if (!number) return Status(Code::kInternal, "packed rows: a label has no number [this is a bug]");
    return answers_[*number];
  }

 private:
  const LabelAnswers answers_;
  const LabelNumbers numbers_;
};

Result<LabelAnswer> Encoded(const LineCodec& codec, const std::string& name) {
  LabelAnswer answer;
  answer.label.name = name;
  const Status status = codec.Encode(name, answer.label.ids, answer.ends);
  if (!status.ok()) return Status(status).Annotate(StrCat("labels: '", Printable(name), "'"));
  return answer;
}

class NumberLabels final : public RecordLabels {
 public:
  NumberLabels(std::unique_ptr<const LineCodec> codec, bool fails)
      : codec_(std::move(codec)), fails_(fails) {}

  std::vector<PackedLabel> named() const override { return {}; }
  std::size_t longest() const override { return kMostIdsOfNumber; }
  Status Keep(Batch& batch, std::uint32_t stage, StageCounts& counts) const override {
    return KeepLabels(batch, stage, counts, fails_, "is no finite decimal number; correct it",
                      [](std::string_view label) { return NumberLabel(label).has_value(); });
  }
  Result<LabelAnswer> Answer(std::string_view label) const override {
    const std::optional<std::string> text = NumberLabel(label);
    if (!text) return Status(Code::kInternal, "packed rows: a label is no number [this is a bug]");
    return Encoded(*codec_, *text);
  }

  // At most an id for each byte of a number and of the space that some tokenizers put before it.
  static constexpr std::size_t kMostIdsOfNumber = kLongestNumber + 3;

 private:
  const std::unique_ptr<const LineCodec> codec_;
  const bool fails_;
};

Result<std::unique_ptr<const LineCodec>> OpenCodec(const ArtifactInput& tokenizer,
                                                   const TokenizerFacts& facts) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadTokenizerModel(tokenizer, facts));
  auto codec = LineCodec::Open(KindOf(facts), bytes);
  if (!codec.ok()) return std::move(codec).status().Annotate(facts.model);
  return codec;
}

/// Returns the text that a vocab.txt lacks of the numbers with this character; empty: none. Digits and `e`
/// are also inside of a word.
std::string LackedPiece(const WordPieceVocabulary& vocabulary, char character) {
  if (character == '-' || character == '.') return {};
  std::string piece = StrCat(kContinuation, std::string(1, character));
  return vocabulary.Find(piece) ? std::string() : piece;
}

/// kInvalidArgument: a number may have no ids that give its text, or no room in a row.
Status CheckNumbers(const LineCodec& codec, const TokenizerFacts& facts, const RowRules& rules) {
  for (const char character : kNumberCharacters) {
    ASSIGN_OR_RETURN(const LabelAnswer answer, Encoded(codec, std::string(1, character)));
    const std::vector<std::uint32_t>& ids = answer.label.ids;
    const bool unknown =
        facts.unk_id >= 0 && std::count(ids.begin(), ids.end(), static_cast<std::uint32_t>(facts.unk_id)) > 0;
    const std::string lacked = ids.empty() || unknown          ? std::string(1, character)
                               : codec.vocabulary() != nullptr ? LackedPiece(*codec.vocabulary(), character)
                                                               : std::string();
    if (!lacked.empty())
      return Status(Code::kInvalidArgument,
                    StrCat("labels: the tokenizer has no piece for '", lacked, "', which numbers have; take ",
                           codec.vocabulary() != nullptr ? "a vocab.txt that has it"
                                                         : "one with `byte_fallback: true`"));
  }
  const std::size_t taken = NumberLabels::kMostIdsOfNumber + IdsBesideLabel(rules);
  if (taken < rules.seq_len) return {};
  return Status(
      Code::kInvalidArgument,
      StrCat("labels: a number and the ends of lines take up to ", taken, " ids, and a row has room for ",
             rules.seq_len, ", so that no text may fit beside it; give a larger `seq_len`"));
}

}  // namespace

Result<std::unique_ptr<Worker>> RecordLabels::NewWorker() const {
  return std::make_unique<LabelWorker>(*this);
}

std::vector<ConfigKey> PackedLabelKeys() {
  std::vector<ConfigKey> keys = LabelKeys(
      "All labels of the records, in the order of their numbers, or `numbers`: the name of its label, or its "
      "number, becomes the last line of a document, and the loss counts it alone.");
  keys.push_back(UnknownLabelKey());
  return keys;
}

Status CheckPackedLabelKeys(const Json& config, const Schema& schema) {
  if (!HasLabels(config)) {
    if (!config.Has("on_unknown_label")) return {};
    return Status(Code::kInvalidArgument, "on_unknown_label: no label is named; name all with `labels`");
  }
  if (schema.columns.count("label") == 0)
    return Status(Code::kInvalidArgument,
                  "labels: the records that come in have none; map one with the key `label` of a stage that "
                  "reads rows");
  RETURN_IF_ERROR(CheckLabelKeys(config));
  if (config.Has("labels_file")) return {};
  return config["labels"].AsArray().size() > 1 || HasNumberLabels(config) ? Status() : TooFewLabels(1);
}

bool HasNumberLabels(const Json& config) {
  const Json::Array& names = config["labels"].AsArray();
  return names.size() == 1 && names.front().AsString() == kNumberLabels;
}

Result<std::vector<std::string>> PackedLabelNames(const Json& config) {
  if (HasNumberLabels(config)) return std::vector<std::string>();
  ASSIGN_OR_RETURN(std::vector<std::string> names, LabelNames(config));
  if (names.size() == 1) return TooFewLabels(1);
  return names;
}

Result<std::shared_ptr<const RecordLabels>> ChooseLabels(const StageContext& context,
                                                         const TokenizerFacts& facts, const RowRules& rules) {
  if (!HasLabels(context.config)) return std::shared_ptr<const RecordLabels>();
  const bool fails = FailsOnUnknownLabel(context.config);
  ASSIGN_OR_RETURN(std::unique_ptr<const LineCodec> codec,
                   OpenCodec(context.artifacts.at(std::string(kTokenizerInput)), facts));
  if (HasNumberLabels(context.config)) {
    RETURN_IF_ERROR(CheckNumbers(*codec, facts, rules));
    return std::shared_ptr<const RecordLabels>(std::make_shared<NumberLabels>(std::move(codec), fails));
  }
  ASSIGN_OR_RETURN(const std::vector<std::string> names, PackedLabelNames(context.config));
  LabelAnswers answers;
  std::vector<PackedLabel> labels;
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(LabelAnswer answer, Encoded(*codec, name));
    labels.push_back(answer.label);
    answers.push_back(std::move(answer));
  }
  RETURN_IF_ERROR(CheckPackedLabels(labels, facts));
  RETURN_IF_ERROR(CheckLabelRoom(answers, rules));
  return std::shared_ptr<const RecordLabels>(std::make_shared<NamedLabels>(std::move(answers), names, fails));
}

}  // namespace pipeline
