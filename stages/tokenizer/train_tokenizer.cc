#include "stages/tokenizer/train_tokenizer.h"

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
#include "stages/tokenizer/engine_key.h"
#include "stages/tokenizer/own_symbols.h"
#include "stages/tokenizer/tokenizer_facts.h"
#include "stages/tokenizer/tokenizer_report.h"
#include "stages/tokenizer/tokenizer_training.h"
#include "stages/tokenizer/wordpiece_training.h"
#include "text/regular_expression.h"
#include "text/sentencepiece/sentencepiece_handle.h"
#include "text/unicode.h"
#include "text/unigram/unigram_trainer.h"

namespace pipeline {

namespace {

constexpr std::string_view kTrainSplit = "train";
constexpr std::string_view kBaseFile = "tokenizer.base.model";  // without the sentinels
constexpr std::string_view kVocabularyFile = "tokenizer.vocab";
constexpr std::string_view kReportFile = "report.json";
constexpr std::string_view kPatternKey = "pattern", kMinCountKey = "min_count";

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
constexpr std::uint32_t kLeastPieces = 16;
constexpr std::int64_t kMostPieces = 1 << 24;  // of a SentencePiece model

struct Settings {
  TrainingSettings training;
  bool compare = true;
};

bool HasColumn(const Schema& schema, std::string_view name) { return schema.columns.count(name) != 0; }

Status Refuse(std::string why) { return Status(Code::kInvalidArgument, std::move(why)); }

bool IsByLibrary(const Json& config) {
  return config["model"].AsString() != "unigram" || config[kEngineKey].AsString() == kLibraryEngine;
}

Result<Settings> SettingsOf(const Json& config, const Schema& schema) {
  Settings settings;
  TrainingSettings& training = settings.training;
  training.layout = FindTokenizerLayout(config["layout"].AsString());
  if (training.layout == nullptr) return Refuse("layout: no such layout");
  training.model = config["model"].AsString();
  training.vocab_size = config["vocab_size"].AsInt();
  training.byte_fallback = config["byte_fallback"].AsBool(true);
  training.character_coverage = config["character_coverage"].AsDouble();
  training.max_piece_length = config["max_piece_length"].AsInt();
  training.by_library = IsByLibrary(config);
  settings.compare = config["compare_boundaries"].AsBool(true);
  training.pattern = config[kPatternKey].AsString();
  training.min_count = config[kMinCountKey].AsInt(1);
  ASSIGN_OR_RETURN(training.symbols, OwnSymbols(config[kSymbolsKey], *training.layout));

  const bool has_cuts = HasColumn(schema, "cuts");
  const std::string_view boundaries = config["boundaries"].AsString();
  const bool words = training.model == "word";
  const bool wordpiece = training.model == kWordPieceModel;
  if (wordpiece != (training.layout->name == kBertLayout))
    return Refuse(wordpiece ? "layout: a model of WordPiece has the ids that BERT wants; write `layout: bert`"
                            : "layout: bert is that of a vocab.txt; write `model: wordpiece`");
  training.boundaries =
      BoundariesNamed(boundaries).value_or(has_cuts && !words ? Boundaries::kCuts : Boundaries::kNone);
  const bool by_script = training.boundaries == Boundaries::kScripts;
  if (by_script && training.by_library)
    return Refuse(
        "boundaries: scripts is for `model: unigram` with `engine: own`; the other trainers have their own "
        "rules for scripts: write `none`");
  if (!training.pattern.empty() && training.by_library)
    return Refuse("pattern: only our trainer has it; write `model: unigram` and `engine: own`");
  if (config.Has(kMinCountKey) && training.by_library)
    return Refuse("min_count: only our trainer has it; write `model: unigram` and `engine: own`");
  if (training.boundaries != Boundaries::kNone && !by_script && !has_cuts)
    return Refuse(StrCat("boundaries: ", boundaries,
                         " needs the column 'cuts', which its input does not have; put "
                         "segment_words in front of it, or write `boundaries: none`"));
  if (wordpiece && training.boundaries != Boundaries::kCuts && training.boundaries != Boundaries::kNone)
    return Refuse(StrCat("boundaries: ", boundaries,
                         " is for SentencePiece; the words of WordPiece are morphemes with `cuts`, those of "
                         "BERT with `none`"));
  if (wordpiece) {
    training.byte_fallback = settings.compare = false;
  }
  if (words && OfDistinctMorphemes(training.boundaries))
    return Refuse(
        "boundaries: a model of words finds only words between spaces, and morphemes have no spaces "
        "around them; take `model: unigram`");
  return settings;
}

Status CheckRanges(const Settings& settings) {
  const TrainingSettings& training = settings.training;
  const std::int64_t least =
      kLeastPieces + static_cast<std::int64_t>(training.symbols.size()) + (training.byte_fallback ? 256 : 0);
  const bool wordpiece = training.model == kWordPieceModel;
  const std::int64_t most = wordpiece ? std::int64_t{kMaxWordPieces} : kMostPieces;
  if (training.vocab_size < least || training.vocab_size > most)
    return Refuse(StrCat("vocab_size: ", training.vocab_size, " is not between ", least, " and ", most,
                         wordpiece ? ", the most that a vocab.txt may have" : "",
                         training.byte_fallback ? " (256 of them are bytes, for byte_fallback)" : ""));
  if (!(training.character_coverage >= 0.98 && training.character_coverage <= 1))
    return Refuse("character_coverage: not between 0.98 and 1");
  if (training.min_count < 1) return Refuse("min_count: is less than 1");
  if (training.max_piece_length < 1 || training.max_piece_length > 512)
    return Refuse("max_piece_length: not between 1 and 512");
  if (!training.pattern.empty()) {
    const Status valid = RegularExpression::Make(training.pattern).status();
    if (!valid.ok()) return Refuse(StrCat("pattern: ", valid.message()));
  }
  return {};
}

/// Lines that are kept for measurement and comparison, and a count of others.
struct Intake {
  HeldLines held;
  HeldLines sample;
  std::uint64_t other_splits = 0;  // lines
};

/// Returns the facts of the tokenizer that are known before it is trained. Only unigram and BPE models have
/// exactly the wanted number of pieces.
Json Promises(const Json& config, const Schema& schema) {
  const Result<Settings> settings = SettingsOf(config, schema);
  if (!settings.ok()) return Json(Json::Object{});
  const TrainingSettings& training = settings->training;
  const bool exact = training.model == "unigram" || training.model == "bpe";
  TokenizerFacts facts =
      PromisedFacts(*training.layout, exact ? static_cast<std::uint32_t>(training.vocab_size) : kLeastPieces);
  facts.morphemes = training.model == kWordPieceModel && training.boundaries == Boundaries::kCuts;
  facts.model = training.model == kWordPieceModel ? kWordPieceFile : kTokenizerModelFile;
  return ToJson(facts);
}

class TrainTokenizer final : public JobStage {
 public:
  TrainTokenizer(std::string name, std::string program, Settings settings, const Schema& schema)
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

  Result<JobOutput> Train(const JobRequest& request) const {
    ASSIGN_OR_RETURN(const std::unique_ptr<TokenizerTraining> training,
                     StartTraining(settings_.training, TrainText(request.input).bytes,
                                   {.program = program_,
                                    .memory = request.memory_bytes,
                                    .scratch = request.scratch,
                                    .threads = static_cast<std::size_t>(std::max(request.threads, 1)),
                                    .progress = request.progress,
                                    .stop = request.stop}));
    ASSIGN_OR_RETURN(const Intake intake,
                     Read(request, training->counts(),
                          [&](std::string_view line, auto cuts) { return training->Add(line, cuts); }));
    Say(request, StrCat("training ", settings_.training.vocab_size, " pieces on ",
                        HumanBytes(training->counts().bytes), " of text"));
    ASSIGN_OR_RETURN(SentencePieceModel model, training->Finish());

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
    Say(request, StrCat("training ", settings_.training.vocab_size, " pieces on ",
                        HumanBytes(training.counts().bytes), " of text"));
    ASSIGN_OR_RETURN(const WordPieceVocabulary vocabulary, training.Finish(request.stop));
    Json report;
    report["held_out"] = MeasureWordPieces(vocabulary, training.kind(), intake.held);
    report["training"] = TrainingReport(training.counts(), intake);
    report["training"]["words"] = training.words();
    report["training"]["distinct_words"] = training.distinct_words();
    const std::string bytes = vocabulary.Serialize();
    TokenizerFacts facts = FactsOfVocabulary(vocabulary, kWordPieceFile, bytes);
    facts.morphemes = training.kind() == BertWordKind::kMorphemes;
    JobOutput output;
    output.facts = ToJson(facts);
    report["tokenizer"] = output.facts;
    RETURN_IF_ERROR(Write(request, kWordPieceFile, bytes, output));
    RETURN_IF_ERROR(Write(request, kReportFile, report.DumpPretty(), output));
    return output;
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
    output.facts = TokenizerFactsOf(layout, model, kTokenizerModelFile, bytes);
    report["tokenizer"] = output.facts;
    RETURN_IF_ERROR(write(kReportFile, report.DumpPretty()));
    return output;
  }

  std::string name_;
  std::string program_;
  Settings settings_;
  bool has_cuts_;
  std::optional<std::uint8_t> train_;  // number of the split; absent: records have no splits
};

std::vector<ConfigKey> Keys() {
  return {
      {"model",
       ValueType::kChoice,
       "unigram",
       Effect::kBytes,
       "How pieces are found; `wordpiece` makes the vocab.txt of BERT.",
       {"unigram", "bpe", "word", "char", "wordpiece"}},
      {"vocab_size", ValueType::kInteger, "32000", Effect::kBytes,
       "How many pieces are trained, special ones included; the sentinels of layout t5 come on top."},
      {"layout", ValueType::kChoice, "pipe", Effect::kBytes,
       "Ids of the special pieces and treatment of text, as the trainer that will load it wants them.",
       TokenizerLayoutNames()},
      {"boundaries",
       ValueType::kChoice,
       "auto",
       Effect::kBytes,
       "The borders that no piece crosses: morphemes, a space being a piece of its own (cuts) or the front "
       "of the morpheme behind it (cuts_in_words, for scripts with spaces); morphemes that then count as "
       "words (spaces); spaces and changes of the script (scripts), with kanji and kana as one script "
       "(none). "
       "auto is cuts where the column is there, else none.",
       {"auto", "cuts", "cuts_in_words", "spaces", "none", "scripts"}},
      {"byte_fallback", ValueType::kBoolean, "true", Effect::kBytes,
       "Whether a character without a piece becomes its UTF-8 bytes instead of the unknown piece; not with "
       "`wordpiece`."},
      {"character_coverage", ValueType::kNumber, "0.9995", Effect::kBytes,
       "Share of all characters of the text that get a piece of their own."},
      {"max_piece_length", ValueType::kInteger, "16", Effect::kBytes, "Characters of the longest piece."},
      {kSymbolsKey, ValueType::kStrings, "~", Effect::kBytes,
       "Pieces that any text with them gives as one id, such as <answer>; their ids follow those of the "
       "layout."},
      {kPatternKey, ValueType::kString, "~", Effect::kBytes,
       "A regular expression: no piece crosses the beginning or the end of one of its matches, such as "
       "\\p{Nd} for "
       "pieces with at most one digit. For `engine: own`."},
      {kMinCountKey, ValueType::kInteger, "~", Effect::kBytes,
       "Words that occur less often are ignored; from 2 on their counts need not fit in memory. If absent: "
       "1. "
       "For `engine: own`."},
      {kEngineKey,
       ValueType::kChoice,
       "~",
       Effect::kBytes,
       "Which trainer finds the pieces of a unigram model: our own one, or the library; if absent: own. The "
       "library makes the other SentencePiece models in any case.",
       {"own", kLibraryEngine}},
      {"compare_boundaries", ValueType::kBoolean, "true", Effect::kBytes,
       "Whether the report compares the choices for boundaries, with three small tokenizers."},
  };
}

bool IsOwnName(const Json&, const std::vector<std::string>&, std::string_view object) {
  return IsOneOf(object, {kTokenizerModelFile, kBaseFile, kVocabularyFile, kReportFile, kWordPieceFile});
}

}  // namespace

StageType TrainTokenizerType(std::string program) {
  StageType type;
  type.name = "train_tokenizer";
  type.help =
      "Trains a SentencePiece tokenizer, or a WordPiece vocabulary, on the lines of the split `train`, or on "
      "all where there are no "
      "splits.";
  type.keys = Keys();
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
      return Refuse(
          "a tokenizer is trained on the split `train`, which the records that come in do not have");
    ASSIGN_OR_RETURN(const Settings settings, SettingsOf(config, schema));
    return CheckRanges(settings);
  };
  type.kind = JobKind{.make = [program](const StageContext& context) -> Result<std::unique_ptr<JobStage>> {
                        ASSIGN_OR_RETURN(Settings settings, SettingsOf(context.config, context.schema));
                        return std::unique_ptr<JobStage>(std::make_unique<TrainTokenizer>(
                            context.name, program, std::move(settings), context.schema));
                      },
                      .out_optional = true,
                      .names = {.own = IsOwnName},
                      .promises = Promises};
  return type;
}

}  // namespace pipeline
