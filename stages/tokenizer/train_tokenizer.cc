#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "base/str.h"
#include "dag/records/job_stage.h"
#include "stages/shards/measured_writer.h"
#include "stages/shards/shard_name.h"
#include "stages/tokenizer/tokenizer_facts.h"
#include "stages/tokenizer/tokenizer_report.h"
#include "stages/tokenizer/tokenizer_settings.h"
#include "stages/tokenizer/tokenizer_stages.h"
#include "stages/tokenizer/tokenizer_training.h"
#include "stages/tokenizer/wordpiece_training.h"
#include "text/regular_expression.h"
#include "text/sentencepiece/sentencepiece_handle.h"
#include "text/unicode.h"
#include "text/unigram/unigram_trainer.h"
#include "text/vocabulary_sizes.h"

namespace pipeline {

namespace {

constexpr std::string_view kTrainSplit = "train";
constexpr std::string_view kBaseFile = "tokenizer.base.model";  // without the sentinels
constexpr std::string_view kVocabularyFile = "tokenizer.vocab";
constexpr std::string_view kReportFile = "report.json";

// One line in 50 is kept aside for measurements, up to 1 MiB. The hash of a line decides; below this limit,
// no line that is trained on is equal to a line kept aside. The small tokenizers of the comparison learn from
// another part.
constexpr std::uint64_t kHeldSeed = 0x68656c64;    // "held"
constexpr std::uint64_t kSampleSeed = 0x736d706c;  // "smpl"
constexpr std::uint64_t kHeldShare = 50;
constexpr std::uint64_t kHeldBytes = 1 << 20;
constexpr std::uint64_t kSampleBytes = 2 << 20;     // for the library
constexpr std::uint64_t kOwnSampleBytes = 3 << 18;  // for our trainer: a fifth of the time of a training
constexpr std::int64_t kComparedVocabulary = 8000;

/// Lines that are kept for measurement and comparison, and a count of others.
struct Intake {
  HeldLines held;
  HeldLines sample;
  std::uint64_t other_splits = 0;  // lines
};

/// Returns the facts of the tokenizer that are known before it is trained. Only unigram and BPE models have
/// exactly the wanted number of pieces, if there is one.
Json Promises(const Json& config, const Schema& schema) {
  const Result<TokenizerSettings> settings = TokenizerSettingsOf(config, schema);
  if (!settings.ok()) return Json(Json::Object{});
  const TrainingSettings& training = settings->training;
  const bool exact = (training.model == "unigram" || training.model == "bpe") && !training.is_auto;
  TokenizerFacts facts =
      PromisedFacts(*training.layout, exact ? static_cast<std::uint32_t>(training.vocab_size) : kLeastPieces);
  facts.morphemes = training.model == kWordPieceModel && training.boundaries == Boundaries::kCuts;
  facts.model = training.model == kWordPieceModel ? kBertVocabularyFile : kTokenizerModelFile;
  return ToJson(facts);
}

class TrainTokenizer final : public JobStage {
 public:
  TrainTokenizer(std::string name, std::string program, TokenizerSettings settings, const Schema& schema)
      : name_(std::move(name)),
        program_(std::move(program)),
        settings_(std::move(settings)),
        has_cuts_(HasColumn(schema, "cuts")) {
    if (!HasColumn(schema, "split")) return;
    const auto found = std::find(schema.splits.begin(), schema.splits.end(), kTrainSplit);
    train_ = static_cast<std::uint8_t>(found - schema.splits.begin());
  }

  Result<std::uint64_t> Memory(const ArtifactTotals& input) const override {
    const ArtifactTotals::Split text = TrainText(input);
    if (settings_.training.model == kWordPieceModel)
      return WordPieceMemory(settings_.training, text.bytes) + 4 * (kHeldBytes + kSampleBytes);
    std::uint64_t memory = TrainingMemory(settings_.training, text.bytes, text.records);
    if (compares()) memory = std::max(memory, CompareMemory());
    return memory + 4 * (kHeldBytes + kSampleBytes);
  }

  Result<JobOutput> Run(const JobRequest& request) const override {
    Result<JobOutput> output =
        settings_.training.model == kWordPieceModel ? TrainPieces(request) : Train(request);
    if (!output.ok()) return std::move(output).status().Annotate(name_);
    return output;
  }

 private:
  bool compares() const { return settings_.compare && has_cuts_; }
  std::uint64_t sample_bytes() const {
    return settings_.training.by_library ? kSampleBytes : kOwnSampleBytes;
  }

  ArtifactTotals::Split TrainText(const ArtifactTotals& input) const {
    ArtifactTotals::Split text;
    for (const auto& [name, split] : input.splits)
      if (!train_ || name == kTrainSplit) text.records += split.records, text.bytes += split.bytes;
    return text;
  }

  std::uint64_t CompareMemory() const {
    TrainingSettings none = settings_.training;
    none.boundaries = none.by_library ? Boundaries::kSpaces : Boundaries::kNone;  // whichever takes most
    return TrainingMemory(none, sample_bytes(), sample_bytes() / 100);
  }

  Result<std::unique_ptr<TokenizerTraining>> Start(const TrainingSettings& settings,
                                                   const JobRequest& request) const {
    return StartTraining(settings, TrainText(request.input).bytes,
                         {.program = program_,
                          .memory = request.memory_bytes,
                          .scratch = request.scratch,
                          .threads = static_cast<std::size_t>(std::max(request.threads, 1)),
                          .progress = request.progress,
                          .stop = request.stop});
  }

  Result<Intake> Read(const JobRequest& request, TokenizerTraining& training) const {
    return Read(request, training.counts(),
                [&](std::string_view line, auto cuts) { return training.Add(line, cuts); });
  }

  /// Refuses the wanted size, with all that work: of those a trainer has told one end only, and a second
  /// training tells the other one. It takes no more pieces than `auto`, and what it makes is not used.
  Status RefuseSize(const JobRequest& request, FoundSizes found) const {
    TrainingSettings other = settings_.training;
    other.fewer_will_do = true;
    other.vocab_size =
        found.least == 0 ? LeastPieces(other) : std::max(found.least, std::int64_t{kMostOfAuto});
    ASSIGN_OR_RETURN(const std::unique_ptr<TokenizerTraining> training, Start(other, request));
    RETURN_IF_ERROR(Read(request, *training).status());
    Say(request, "finding the sizes that work");
    const Result<SentencePieceModel> model = training->Finish();
    const std::int64_t least = training->found_sizes().least;
    if (!model.ok() && least == 0) return model.status();
    if (found.least == 0)
      found.least = least == 0 ? other.vocab_size : least;
    else
      found.most = static_cast<std::int64_t>(model->pieces().size());
    return RefuseVocabularySize(
        static_cast<std::size_t>(settings_.training.vocab_size), settings_.training.is_auto,
        {static_cast<std::size_t>(found.least), static_cast<std::size_t>(found.most)});
  }

  Result<JobOutput> Train(const JobRequest& request) const {
    ASSIGN_OR_RETURN(const std::unique_ptr<TokenizerTraining> training, Start(settings_.training, request));
    ASSIGN_OR_RETURN(const Intake intake, Read(request, *training));
    RETURN_IF_ERROR(CheckText(training->counts(), intake));
    SayTraining(request, training->counts());
    Result<SentencePieceModel> trained = training->Finish();
    if (const FoundSizes& found = training->found_sizes(); found.least + found.most > 0)
      return RefuseSize(request, found);
    ASSIGN_OR_RETURN(SentencePieceModel model, std::move(trained));

    Json report;
    ASSIGN_OR_RETURN(report["held_out"], MeasureTokenizer(model, intake.held));
    report["word_initial_share"] = ShareOfWordInitialPieces(model);
    report["training"] = TrainingReport(training->counts(), intake);
    if (compares()) {
      Say(request, "comparing the choices for `boundaries`");
      ASSIGN_OR_RETURN(report["comparison"], Compare(intake, request));
    }
    return Publish(std::move(model), std::move(report), request);
  }

  Result<JobOutput> TrainPieces(const JobRequest& request) const {
    WordPieceTraining training(settings_.training, request.memory_bytes);
    ASSIGN_OR_RETURN(const Intake intake,
                     Read(request, training.counts(),
                          [&](std::string_view line, auto cuts) { return training.Add(line, cuts); }));
    RETURN_IF_ERROR(CheckText(training.counts(), intake));
    SayTraining(request, training.counts());
    ASSIGN_OR_RETURN(const WordPieceVocabulary vocabulary, training.Finish(request.stop));
    Json report;
    report["held_out"] = MeasureWordPieces(vocabulary, training.kind(), intake.held);
    report["training"] = TrainingReport(training.counts(), intake);
    report["training"]["words"] = training.words();
    report["training"]["distinct_words"] = training.distinct_words();
    const std::string bytes = vocabulary.Serialize();
    TokenizerFacts facts = FactsOfVocabulary(vocabulary, kBertVocabularyFile, bytes);
    facts.morphemes = training.kind() == BertWordKind::kMorphemes;
    JobOutput output;
    output.facts = ToJson(facts);
    report["tokenizer"] = output.facts;
    RETURN_IF_ERROR(Write(request, kBertVocabularyFile, bytes, output));
    RETURN_IF_ERROR(Write(request, kReportFile, report.DumpPretty(), output));
    return output;
  }

  void SayTraining(const JobRequest& request, const TrainingCounts& counts) const {
    Say(request, StrCat("training ", settings_.training.is_auto ? "up to " : "",
                        settings_.training.vocab_size, " pieces on ", HumanBytes(counts.bytes), " of text"));
  }

  /// kFailedPrecondition: no text is left to train on, and why.
  static Status CheckText(const TrainingCounts& counts, const Intake& intake) {
    if (counts.bytes > 0) return {};
    std::string why = "no line comes in";
    if (const std::size_t held = intake.held.text.size(); held > 0)
      why = StrCat("all its lines, ", held, ", were kept aside to measure with; add lines");
    else if (intake.other_splits > 0)
      why = StrCat("the split `", kTrainSplit, "` has no line, and ", intake.other_splits,
                   " are in other splits");
    return Status(Code::kFailedPrecondition, StrCat("there is no text to train on: ", why));
  }

  /// Reports a step whose progress is unknown.
  static void Say(const JobRequest& request, std::string_view what) {
    if (request.progress) request.progress(0, 0);
    if (request.say) request.say(what);
  }

  /// Gives every line of the split `train` to `add`, except those that are kept aside.
  Result<Intake> Read(
      const JobRequest& request, const TrainingCounts& counts,
      const std::function<Status(std::string_view line, std::span<const std::uint32_t> cuts)>& add) const {
    const std::uint64_t all = TrainText(request.input).bytes;
    const std::uint64_t share = all <= sample_bytes() ? 1 : all / sample_bytes();
    Intake intake;
    Batch batch;
    ASSIGN_OR_RETURN(const std::unique_ptr<Source> source, request.open_records());
    while (true) {
      if (request.stop.stop_requested()) return Status(Code::kCancelled, "stopped");
      batch.Clear(1);
      ASSIGN_OR_RETURN(const bool more, source->Next(batch));
      if (!more) return intake;
      for (std::size_t row = 0; row < batch.size(); ++row) {
        if (train_ && batch.split[row] != *train_) {
          ++intake.other_splits;
          continue;
        }
        const std::string_view line = batch.text[row];
        const std::span<const std::uint32_t> cuts =
            has_cuts_ ? batch.cuts[row] : std::span<const std::uint32_t>();
        if (Hash64(line, kHeldSeed) % kHeldShare == 0 &&
            intake.held.text.bytes() + line.size() <= kHeldBytes) {
          Keep(line, cuts, intake.held);
          continue;
        }
        if (compares() && Hash64(line, kSampleSeed) % share == 0 &&
            intake.sample.text.bytes() + line.size() <= 2 * sample_bytes())
          Keep(line, cuts, intake.sample);
        RETURN_IF_ERROR(add(line, cuts));
      }
      if (request.progress) request.progress(counts.bytes + intake.held.text.bytes(), all);
    }
  }

  void Keep(std::string_view line, std::span<const std::uint32_t> cuts, HeldLines& lines) const {
    lines.text.Append(line);
    if (has_cuts_) lines.cuts.Append(cuts);
  }

  Json TrainingReport(const TrainingCounts& counts, const Intake& intake) const {
    Json report;
    report["boundaries"] = BoundariesName(settings_.training.boundaries);
    report["lines"] = counts.lines;
    report["bytes"] = counts.bytes;
    report["sentences"] = counts.sentences;
    if (OfDistinctMorphemes(settings_.training.boundaries)) report["morphemes"] = counts.morphemes;
    report["cuts_in_long_lines"] = counts.cuts_in_long_lines;
    report["lines_kept_aside"] = intake.held.text.size();
    report["lines_of_other_splits"] = intake.other_splits;
    return report;
  }

  /// Returns the choices to compare: the three that existed before the others, and another one if it was
  /// chosen, so that the report of an older recipe stays the same.
  std::vector<Boundaries> Compared() const {
    std::vector<Boundaries> compared = {Boundaries::kCuts, Boundaries::kSpaces, Boundaries::kNone};
    const Boundaries chosen = settings_.training.boundaries;
    if (chosen == Boundaries::kCutsInWords || chosen == Boundaries::kScripts)
      compared.insert(compared.begin(), chosen);
    return compared;
  }

  /// Returns the characters per token of small tokenizers that differ in `boundaries` alone.
  Result<Json> Compare(const Intake& intake, const JobRequest& request) const {
    Json report;
    report["sample_bytes"] = intake.sample.text.bytes();
    report["vocab_size"] = std::min(kComparedVocabulary, settings_.training.vocab_size);
    for (const Boundaries boundaries : Compared()) {
      TrainingSettings small = settings_.training;
      small.boundaries = boundaries;
      small.vocab_size = report["vocab_size"].AsInt();
      small.fewer_will_do = small.is_rough = true;
      small.is_auto = false;
      small.min_count = 1;  // a sample has fewer of each word
      Json& result = report["characters_per_token"][BoundariesName(boundaries)];
      Result<double> found = CharactersWith(small, intake, request);
      if (found.ok())
        result = *found;
      else if (found.status().code() ==
               Code::kFailedPrecondition)  // too little text, or too many different characters
        result = found.status().message();
      else
        return std::move(found).status();
    }
    return report;
  }

  Result<double> CharactersWith(const TrainingSettings& small, const Intake& intake,
                                const JobRequest& request) const {
    ASSIGN_OR_RETURN(const std::unique_ptr<TokenizerTraining> training,
                     StartTraining(small, intake.sample.text.bytes(),
                                   {.program = program_,
                                    .threads = static_cast<std::size_t>(std::max(request.threads, 1)),
                                    .stop = request.stop}));
    for (std::size_t row = 0; row < intake.sample.text.size(); ++row)
      RETURN_IF_ERROR(training->Add(intake.sample.text[row], intake.sample.cuts[row]));
    ASSIGN_OR_RETURN(const SentencePieceModel model, training->Finish());
    return CharactersPerToken(model, intake.held);
  }

  static Status Write(const JobRequest& request, std::string_view name, std::string_view bytes,
                      JobOutput& output) {
    ASSIGN_OR_RETURN(const auto writer, MeasuredWriter::Create(*request.out, std::string(name),
                                                               request.condition(std::string(name))));
    RETURN_IF_ERROR(writer->Append(bytes));
    ASSIGN_OR_RETURN(StoredObject object, writer->Commit(request.stop));
    output.objects.push_back(std::move(object));
    return {};
  }

  Result<JobOutput> Publish(SentencePieceModel model, Json report, const JobRequest& request) const {
    const TokenizerLayout& layout = *settings_.training.layout;
    JobOutput output;
    const auto write = [&](std::string_view name, std::string_view bytes) {
      return Write(request, name, bytes, output);
    };
    if (layout.sentinels > 0) {
      RETURN_IF_ERROR(write(kBaseFile, model.Serialize()));
      AppendSentinels(layout, model);
    }
    const std::string bytes = model.Serialize();
    RETURN_IF_ERROR(write(kTokenizerModelFile, bytes));
    RETURN_IF_ERROR(write(kVocabularyFile, model.Vocabulary()));
    output.facts = ToJson(FactsOfModel(layout.name, model, kTokenizerModelFile, bytes));
    report["tokenizer"] = output.facts;
    RETURN_IF_ERROR(write(kReportFile, report.DumpPretty()));
    return output;
  }

  std::string name_;
  std::string program_;
  TokenizerSettings settings_;
  bool has_cuts_;
  std::optional<std::uint8_t> train_;  // number of the split; absent: records have no splits
};

bool IsOwnName(const Json&, const std::vector<std::string>&, std::string_view object) {
  return IsOneOf(object, {kTokenizerModelFile, kBaseFile, kVocabularyFile, kReportFile, kBertVocabularyFile});
}

}  // namespace

StageType TrainTokenizerType(std::string program) {
  StageType type;
  type.name = "train_tokenizer";
  type.help =
      "Trains a SentencePiece tokenizer, or a WordPiece vocabulary, on the lines of the split `train`, or on "
      "all where there are no "
      "splits.";
  type.keys = TokenizerKeys();
  type.gives = Flow::kArtifact;
  type.reads = {"text"};
  type.libraries = {{"sentencepiece", SentencePieceVersion()}};
  // A tokenizer that the library made stays as it is, as after a change of the library's version.
  type.chosen_libraries = [](const Json& config) -> std::map<std::string, std::string> {
    if (IsByLibrary(config)) return {};
    std::map<std::string, std::string> libraries = {
        {"unigram_trainer", std::to_string(kUnigramTrainerVersion)}};
    if (config.Has(kPatternKey)) libraries.emplace("icu", IcuVersion());
    return libraries;
  };
  type.check = [](const Json& config, Schema& schema) -> Status {
    if (HasColumn(schema, "split") &&
        std::find(schema.splits.begin(), schema.splits.end(), kTrainSplit) == schema.splits.end())
      return Status(
          Code::kInvalidArgument,
          "a tokenizer is trained on the split `train`, which the records that come in do not have");
    ASSIGN_OR_RETURN(const TokenizerSettings settings, TokenizerSettingsOf(config, schema));
    return CheckRanges(settings.training);
  };
  type.kind = JobKind{
      .make = [program](const StageContext& context) -> Result<std::unique_ptr<JobStage>> {
        ASSIGN_OR_RETURN(TokenizerSettings settings, TokenizerSettingsOf(context.config, context.schema));
        return std::make_unique<TrainTokenizer>(context.name, program, std::move(settings), context.schema);
      },
      .out_optional = true,
      .names = {.own = IsOwnName},
      .promises = Promises};
  return type;
}

}  // namespace pipeline
