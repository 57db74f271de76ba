#include <memory>
#include <string>
#include <utility>

#include "base/str.h"
#include "dag/records/transform.h"
#include "stages/lines/line_stages.h"
#include "text/mecab/mecab_handle.h"
#include "text/word_cutter.h"

namespace pipeline {

namespace {

constexpr std::string_view kEngineKey = "engine", kLibraryEngine = "mecab";

class SegmentWorker final : public Worker {
 public:
  explicit SegmentWorker(std::unique_ptr<Analyser> analyser) : cutter_(std::move(analyser)) {}

  Status Apply(Batch& batch, std::uint32_t stage, StageCounts& counts) override {
    batch.cuts.Clear();
    for (std::size_t row = 0; row < batch.size(); ++row) {
      const std::string_view text = batch.text[row];
      const WordFallbacks fallbacks = cutter_.Cut(text, batch.cuts.open_row());
      batch.cuts.CloseRow();
      if (fallbacks.cut_inside_sentence) counts.Add("cut_inside_sentence");
      for (const auto& [happened, reason] : {std::pair(fallbacks.analyser_failed, "analyser_failed"),
                                             std::pair(fallbacks.rejoin_mismatch, "rejoin_mismatch")}) {
        if (!happened) continue;
        counts.Add(reason);
        const RecordHead& head = batch.heads[row];
        batch.quarantine.push_back({stage, head.index, head.sub, reason, std::string(text)});
      }
    }
    return {};
  }

 private:
  WordCutter cutter_;
};

class SegmentWords final : public Transform {
 public:
  explicit SegmentWords(std::unique_ptr<MecabHandle> mecab) : mecab_(std::move(mecab)) {}
  Result<std::unique_ptr<Worker>> NewWorker() const override {
    return std::make_unique<SegmentWorker>(mecab_->NewAnalyser());
  }

 private:
  const std::unique_ptr<MecabHandle> mecab_;
};

Status CheckSegmentWords(const Json& config, Schema& schema) {
  if (schema.columns.count("text") == 0)
    return Status(Code::kInvalidArgument,
                  "segment_words reads the column 'text', which its input does not have");
  if (schema.columns.count("cuts") != 0)
    return Status(Code::kInvalidArgument,
                  "the records that come in have their morphemes already; remove one of the two stages");
  RETURN_IF_ERROR(CheckDictionaryName(config["dictionary"].AsString()));
  schema.columns["cuts"] = ColumnType::kU32List;
  return {};
}

Result<std::unique_ptr<Transform>> MakeSegmentWords(const StageContext& context,
                                                    const DictionaryPlaces& places) {
  const std::string_view dictionary = context.config["dictionary"].AsString();
  ASSIGN_OR_RETURN(const std::string directory, FindDictionary(dictionary, places));
  const auto engine = context.config[kEngineKey].AsString() == kLibraryEngine ? MecabHandle::Engine::kLibrary
                                                                              : MecabHandle::Engine::kOwn;
  Result<std::unique_ptr<MecabHandle>> mecab = MecabHandle::Open(directory, engine);
  if (!mecab.ok())
    return Status(mecab.status().code(), StrCat(mecab.status().message(), "; ", HowToInstall(dictionary)));
  return std::make_unique<SegmentWords>(std::move(mecab).value());
}

}  // namespace

StageType SegmentWordsType(const DictionaryPlaces& places) {
  StageType type;
  type.name = "segment_words";
  type.help = "Finds the morphemes of each line, as MeCab does; the text stays as it is.";
  type.keys = {
      {"dictionary", ValueType::kString, "",
       "`ipadic`, `unidic`, `naist`, `ko`, or the path of a MeCab dictionary in UTF-8."},
      Choice(kEngineKey, "own", {"own", kLibraryEngine},
             "The program that finds the morphemes; both find the same, and `mecab` needs more time. `own` "
             "gives it the dictionaries that only MeCab can read.",
             Effect::kNone)};
  type.reasons = {
      {"cut_inside_sentence", "A sentence was too long for the analyser and was cut."},
      {"analyser_failed", "The analyser failed; the words of its text replace morphemes."},
      {"rejoin_mismatch", "Its morphemes do not join to its text; the words of its text replace them."}};
  type.libraries = {{"mecab", MecabHandle::Version()}};
  type.check = CheckSegmentWords;
  type.files = [places](const Json& config) {
    return DictionaryFiles(config["dictionary"].AsString(), places);
  };
  type.kind = TransformKind{
      .make = [places](const StageContext& context) { return MakeSegmentWords(context, places); },
      .model_memory =
          [places](const Json& config) { return DictionaryMemory(config["dictionary"].AsString(), places); }};
  return type;
}

}  // namespace pipeline
