#include "stages/export/packed/label_answers.h"

#include <string>
#include <utility>

#include "base/str.h"
#include "formats/sentencepiece_model.h"
#include "stages/lines/label_names.h"
#include "text/sentencepiece_handle.h"
#include "text/utf8.h"

namespace pipeline {

namespace {

class LabelCheckWorker final : public Worker {
 public:
  explicit LabelCheckWorker(const LabelNumbers& numbers) : numbers_(numbers) {}

  Status Apply(Batch& batch, std::uint32_t stage, StageCounts& counts) override {
    return numbers_.Number(batch, stage, counts, of_rows_);
  }

 private:
  const LabelNumbers& numbers_;
  std::vector<std::uint32_t> of_rows_;
};

class LabelCheck final : public Transform {
 public:
  explicit LabelCheck(const LabelNumbers& numbers) : numbers_(numbers) {}

  Result<std::unique_ptr<Worker>> NewWorker() const override {
    return std::unique_ptr<Worker>(std::make_unique<LabelCheckWorker>(numbers_));
  }

 private:
  const LabelNumbers& numbers_;
};

Result<LabelAnswers> Encoded(const std::vector<std::string>& names, const ArtifactInput& tokenizer,
                             const TokenizerFacts& facts) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadTokenizerModel(tokenizer, facts));
  const Result<SentencePieceModel> model = SentencePieceModel::Parse(bytes);
  if (!model.ok()) return Status(model.status()).Annotate(facts.model);
  auto encoder = SentencePieceEncoder::Load(bytes);
  if (!encoder.ok()) return std::move(encoder).status().Annotate(facts.model);
  SentencePieceEncoder::Scratch scratch;
  LabelAnswers answers;
  for (const std::string& name : names) {
    LabelAnswer& answer = answers.emplace_back();
    answer.label.name = name;
    const Status status = (*encoder)->Encode(name, scratch, answer.label.ids, answer.ends);
    if (!status.ok()) return Status(status).Annotate(StrCat("labels: '", Printable(name), "'"));
  }
  return answers;
}

}  // namespace

std::vector<ConfigKey> PackedLabelKeys() {
  std::vector<ConfigKey> keys = LabelKeys(
      "All labels of the records, in the order of their numbers: the name of its label becomes the "
      "last line of a document, and the loss counts it alone.");
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
  return config["labels"].AsArray().size() > 1 ? Status() : TooFewLabels(1);
}

Result<std::vector<std::string>> PackedLabelNames(const Json& config) {
  ASSIGN_OR_RETURN(std::vector<std::string> names, LabelNames(config));
  if (names.size() == 1) return TooFewLabels(1);
  return names;
}

Result<std::shared_ptr<const RecordLabels>> ChooseLabels(const StageContext& context,
                                                         const TokenizerFacts& facts, const RowRules& rules) {
  if (!HasLabels(context.config)) return std::shared_ptr<const RecordLabels>();
  ASSIGN_OR_RETURN(const std::vector<std::string> names, PackedLabelNames(context.config));
  ASSIGN_OR_RETURN(LabelAnswers answers,
                   Encoded(names, context.artifacts.at(std::string(kTokenizerInput)), facts));
  std::vector<PackedLabel> labels;
  for (const LabelAnswer& answer : answers) labels.push_back(answer.label);
  RETURN_IF_ERROR(CheckPackedLabels(labels, facts));
  RETURN_IF_ERROR(CheckLabelRoom(answers, rules));
  return std::shared_ptr<const RecordLabels>(std::make_shared<RecordLabels>(
      RecordLabels{std::move(answers), LabelNumbers(names, FailsOnUnknownLabel(context.config))}));
}

std::unique_ptr<Transform> NewLabelCheck(const LabelNumbers& numbers) {
  return std::make_unique<LabelCheck>(numbers);
}

}  // namespace pipeline
