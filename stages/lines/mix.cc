#include "stages/lines/mix.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "base/digest.h"
#include "base/str.h"
#include "base/words.h"
#include "stages/lines/barrier_source.h"
#include "stages/lines/line_stages.h"
#include "stages/lines/partition_file.h"

namespace pipeline {

namespace {

constexpr std::string_view kMixedSplit = "train";

/// Opens the partition outputs of a corpus.
struct Reading {
  const IntermediateFormat& format;
  const Schema& schema;
  std::stop_token stop;

  Result<std::unique_ptr<Source>> Open(const Corpus& corpus, std::size_t output) const {
    Result<std::unique_ptr<Source>> source =
        format.Open(*corpus.directory, corpus.outputs[output], schema, kBarrierReadBytes, stop);
    if (!source.ok()) return OutputErrorOf(corpus.stage, std::move(source).status());
    return source;
  }
};

/// Returns the number of the split that is mixed; absent: records have no splits, and all are mixed.
std::optional<std::uint8_t> MixedSplit(const Schema& schema) {
  if (!schema.columns.contains("split")) return std::nullopt;
  const auto found = std::find(schema.splits.begin(), schema.splits.end(), kMixedSplit);
  return static_cast<std::uint8_t>(found - schema.splits.begin());
}

Result<std::uint64_t> CountTokens(const Reading& reading, const Corpus& corpus,
                                  std::optional<std::uint8_t> mixed) {
  std::uint64_t tokens = 0;
  Batch batch;
  for (std::size_t output = 0; output < corpus.outputs.size(); ++output) {
    ASSIGN_OR_RETURN(const std::unique_ptr<Source> source, reading.Open(corpus, output));
    while (true) {
      batch.Clear(1);
      const Result<bool> more = source->Next(batch);
      if (!more.ok()) return OutputErrorOf(corpus.stage, more.status());
      if (!*more) break;
      for (std::size_t row = 0; row < batch.size(); ++row)
        if (!mixed || batch.split[row] == *mixed) tokens += batch.ids[row].size();
    }
  }
  return tokens;
}

Result<std::vector<std::uint64_t>> SizesOf(const MixRules& rules, const std::vector<Corpus>& corpora,
                                           const Reading& reading) {
  std::vector<std::uint64_t> sizes;
  for (const Corpus& corpus : corpora) {
    std::uint64_t size = 0;
    if (rules.unit == MixUnit::kTokens) {
      ASSIGN_OR_RETURN(size, CountTokens(reading, corpus, MixedSplit(reading.schema)));
    } else {
      for (const PartitionOutput& output : corpus.outputs)
        if (const auto split = output.splits.find(kMixedSplit); split != output.splits.end())
          size += rules.unit == MixUnit::kBytes ? split->second.bytes : split->second.documents;
    }
    sizes.push_back(size);
  }
  return sizes;
}

std::string_view UnitName(MixUnit unit) {
  switch (unit) {
    case MixUnit::kDocuments: return "documents";
    case MixUnit::kBytes: return "bytes";
    case MixUnit::kTokens: return "tokens";
  }
  return "";
}

class MixSource final : public BarrierSource {
 public:
  MixSource(const MixRules& rules, std::vector<Corpus> corpora, std::vector<double> rates,
            const IntermediateFormat& format, const Schema& schema, const BarrierRequest& request)
      : BarrierSource(rules.partition_bytes, request),
        seed_(rules.seed),
        corpora_(std::move(corpora)),
        rates_(std::move(rates)),
        schema_(schema),
        reading_{format, schema_, request.stop},
        mixed_(MixedSplit(schema)) {}

 private:
  /// The first pass reads every corpus, because it also gives the splits that are not mixed.
  Result<std::unique_ptr<Source>> OpenNext() override {
    while (output_ == corpora_[corpus_].outputs.size() || !IsRead()) {
      output_ = 0;
      in_document_.reset();
      if (++corpus_ < corpora_.size()) continue;
      corpus_ = 0;
      ++copy_;
      if (std::none_of(rates_.begin(), rates_.end(), [this](double rate) { return copy_ < std::ceil(rate); }))
        return std::unique_ptr<Source>();
    }
    return reading_.Open(corpora_[corpus_], output_++);
  }
  bool IsRead() const { return copy_ == 0 || copy_ < std::ceil(rates_[corpus_]); }

  Result<bool> Read(Source& output, Batch& batch) override {
    Result<bool> more = output.Next(batch);
    if (!more.ok()) return OutputErrorOf(corpora_[corpus_].stage, more.status());
    return more;
  }

  std::optional<std::uint64_t> DocumentOf(const Batch& batch, std::size_t row) override {
    const std::uint64_t document = batch.heads[row].document;
    const std::uint32_t input = batch.partition.input;
    const bool is_mixed = !mixed_ || batch.split[row] == *mixed_;
    const bool comes = is_mixed ? copy_ < Copies(input, document) : copy_ == 0;
    if (!comes) {
      if (copy_ == 0) ++left_out_;
      return std::nullopt;
    }
    if (copy_ > 0) ++copies_;
    const std::pair<std::uint32_t, std::uint64_t> here = {input, document};
    if (in_document_ != here) {
      in_document_ = here;
      ++begun_;
    }
    return begun_ - 1;
  }

  StageCounts Outside() const override {
    StageCounts outside;
    if (left_out_ > 0) outside.Add("left_out", left_out_);
    if (copies_ > 0) outside.Add("copies", copies_);
    return outside;
  }

  /// Returns the number of copies of a document: the whole part of its rate, and by chance one more for the
  /// fraction.
  double Copies(std::uint32_t input, std::uint64_t document) const {
    const double rate = rates_[corpus_], whole = std::floor(rate);
    Hasher hasher;
    hasher.UpdateU64(seed_).UpdateU64(corpus_).UpdateU64(input).UpdateU64(document);
    const double chance = std::ldexp(static_cast<double>(hasher.Finish().high >> 11), -53);
    return whole + (chance < rate - whole ? 1 : 0);
  }

  const std::uint64_t seed_;
  const std::vector<Corpus> corpora_;
  const std::vector<double> rates_;
  const Schema schema_;
  const Reading reading_;
  const std::optional<std::uint8_t> mixed_;

  int copy_ = 0;  // the pass, from 0: it gives this copy of each document
  std::size_t corpus_ = 0;
  std::size_t output_ = 0;  // the one that is opened next
  std::optional<std::pair<std::uint32_t, std::uint64_t>>
      in_document_;                          // input and ordinal, of the last record
  std::uint64_t begun_ = 0;                  // documents
  std::uint64_t left_out_ = 0, copies_ = 0;  // records
};

constexpr std::string_view kCorporaInput = "corpora";
constexpr std::size_t kMostCorpora = 1000;

/// Returns the numbers of the list `key`, all above 0; empty: the key is absent.
Result<std::vector<double>> Numbers(const Json& config, std::string_view key) {
  std::vector<double> numbers;
  for (const Json& element : config[key].AsArray()) {
    const std::string_view text = element.AsString();
    const auto number = ParseNumber<double>(text);
    if (!number || !std::isfinite(*number) || *number <= 0)
      return Status(Code::kInvalidArgument, StrCat(key, ": '", text, "' is no number above 0"));
    numbers.push_back(*number);
  }
  return numbers;
}

Result<MixRules> MixRulesOf(const Json& config) {
  MixRules rules;
  const std::string_view unit = config["unit"].AsString();
  rules.unit = unit == "tokens" ? MixUnit::kTokens : unit == "bytes" ? MixUnit::kBytes : MixUnit::kDocuments;
  ASSIGN_OR_RETURN(rules.weights, Numbers(config, "weights"));
  ASSIGN_OR_RETURN(rules.epochs, Numbers(config, "epochs"));
  if (rules.epochs.empty()) rules.epochs.assign(rules.weights.size(), 1);
  if (rules.epochs.size() != rules.weights.size())
    return Status(Code::kInvalidArgument, StrCat("epochs: ", rules.epochs.size(), " numbers for ",
                                                 rules.weights.size(), " weights; give one for each corpus"));
  if (config["size"].is_int()) {
    if (config["size"].AsInt() < 1) return Status(Code::kInvalidArgument, "size: must be at least 1");
    rules.size = static_cast<std::uint64_t>(config["size"].AsInt());
  }
  if (config["partition"].AsInt() < 1)
    return Status(Code::kInvalidArgument, "partition: must be at least one byte");
  rules.seed = static_cast<std::uint64_t>(config["seed"].AsInt());
  rules.partition_bytes = static_cast<std::uint64_t>(config["partition"].AsInt());
  return rules;
}

class Mix final : public BarrierStage {
 public:
  Mix(MixRules rules, Schema schema, std::vector<Corpus> corpora)
      : rules_(std::move(rules)), schema_(std::move(schema)), corpora_(std::move(corpora)) {}

  Result<std::unique_ptr<Sink>> OpenPartition(Store&, PartitionId) const override {
    return Status(Code::kInternal, "mix takes no records in: it reads corpora that exist [this is a bug]");
  }
  std::uint64_t partition_memory(std::uint64_t) const override { return 0; }
  Result<std::unique_ptr<Source>> Open(BarrierRequest request) const override {
    if (corpora_.size() != rules_.weights.size())
      return Status(Code::kUnavailable, "mix: its corpora are not there any more; run again");
    return OpenMix(rules_, corpora_, format_, schema_, std::move(request));
  }

 private:
  const MixRules rules_;
  const Schema schema_;
  const std::vector<Corpus> corpora_;  // empty: nothing will be read from them
  const PartitionFileFormat format_;
};

Status CheckMix(const Json& config, Schema& schema) {
  ASSIGN_OR_RETURN(const MixRules rules, MixRulesOf(config));
  if (schema.columns.count("text") == 0)
    return Status(Code::kInvalidArgument, "mix counts the column 'text', which its corpora do not have");
  if (rules.unit == MixUnit::kTokens && schema.columns.count("ids") == 0)
    return Status(Code::kInvalidArgument,
                  "unit: tokens are counted in the column 'ids', which its corpora do not have; put the "
                  "stage `encode` in front of it, or mix by documents or bytes");
  if (schema.columns.count("split") != 0 &&
      std::find(schema.splits.begin(), schema.splits.end(), "train") == schema.splits.end())
    return Status(Code::kInvalidArgument, "mix mixes the split 'train', which its corpora do not have");
  return {};
}

Status CheckCorpora(const Json& config, std::size_t corpora) {
  const std::size_t weights = config["weights"].AsArray().size();
  if (weights == corpora && corpora <= kMostCorpora) return {};
  return Status(Code::kInvalidArgument,
                StrCat("weights: ", weights, " numbers for ", corpora, " corpora; give one for each"));
}

Result<std::unique_ptr<BarrierStage>> MakeMix(const StageContext& context) {
  ASSIGN_OR_RETURN(MixRules rules, MixRulesOf(context.config));
  std::vector<Corpus> corpora;
  for (std::size_t number = 0;; ++number) {
    const auto found = context.artifacts.find(StrCat(kCorporaInput, "[", number, "]"));
    if (found == context.artifacts.end()) break;
    corpora.push_back({found->second.uri, found->second.directory, found->second.outputs});
  }
  return std::make_unique<Mix>(std::move(rules), context.schema, std::move(corpora));
}

}  // namespace

Result<std::vector<double>> MixRates(const MixRules& rules, const std::vector<Corpus>& corpora,
                                     const std::vector<std::uint64_t>& sizes) {
  const double all = std::accumulate(rules.weights.begin(), rules.weights.end(), 0.0);
  const std::string_view unit = UnitName(rules.unit);
  double most = 0;
  std::size_t scarce = 0;
  for (std::size_t i = 0; i < corpora.size(); ++i) {
    if (sizes[i] == 0)
      return Status(Code::kFailedPrecondition, StrCat("mix: corpus '", corpora[i].stage, "' has no ", unit,
                                                      " in its split ", kMixedSplit));
    const double whole = rules.epochs[i] * static_cast<double>(sizes[i]) * all / rules.weights[i];
    if (i == 0 || whole < most) most = whole, scarce = i;
  }
  if (rules.size && static_cast<double>(*rules.size) > most)
    return Status(Code::kFailedPrecondition, StrCat("mix: a size of ", *rules.size, " ", unit,
                                                    " would take corpus '", corpora[scarce].stage, "', of ",
                                                    sizes[scarce], ", more often than its limit of epochs; ",
                                                    static_cast<std::uint64_t>(most), " can be had"));
  const double total = rules.size ? static_cast<double>(*rules.size) : most;
  std::vector<double> rates;
  for (std::size_t i = 0; i < corpora.size(); ++i) {
    const double rate = total * rules.weights[i] / (all * static_cast<double>(sizes[i]));
    // A rounding error must neither miss nor exceed an exact limit.
    const double limit = rules.epochs[i];
    rates.push_back(std::abs(rate - limit) < 1e-9 * limit ? limit : std::min(rate, limit));
  }
  return rates;
}

Result<std::unique_ptr<Source>> OpenMix(const MixRules& rules, const std::vector<Corpus>& corpora,
                                        const IntermediateFormat& format, const Schema& schema,
                                        BarrierRequest request) {
  const Reading reading{format, schema, request.stop};
  ASSIGN_OR_RETURN(const std::vector<std::uint64_t> sizes, SizesOf(rules, corpora, reading));
  ASSIGN_OR_RETURN(std::vector<double> rates, MixRates(rules, corpora, sizes));
  return std::make_unique<MixSource>(rules, corpora, std::move(rates), format, schema, request);
}

StageType MixType() {
  StageType type;
  type.name = "mix";
  type.help = "Puts several corpora together in given proportions; documents may come more than once.";
  type.takes = Flow::kNothing;
  type.gives = Flow::kRecords;
  type.named_inputs = {{.name = kCorporaInput,
                        .help = "Stages whose records are mixed, all with the same columns.",
                        .takes = Flow::kRecords,
                        .many = true}};
  type.keys = {
      {"weights", ValueType::kStrings, "",
       "The share of each corpus in the split train, in their order, as numbers of any sum."},
      {"epochs", ValueType::kStrings, "~",
       "How often a document of each corpus may come, in their order; without it, once."},
      Choice("unit", "documents", {"documents", "bytes", "tokens"}, "The unit of the shares."),
      {"size", ValueType::kInteger, "~",
       "How much comes out, in that unit; without it, the most that `epochs` allow."},
      {"seed", ValueType::kInteger, "0",
       "Another seed chooses other documents where not all come equally often."},
      {"partition", ValueType::kBytes, "64MiB",
       "A partition closes at the end of a document once it holds so much text."},
  };
  type.check = CheckMix;
  type.check_named_inputs = [](const Json& config, const std::vector<std::string_view>& named_inputs) {
    return CheckCorpora(config, named_inputs.size());
  };
  type.reasons = {Tally("left_out", "Records of the corpora that were not taken."),
                  Tally("copies", "Records that come once more.")};
  type.kind = BarrierKind{.make = MakeMix};
  return type;
}

}  // namespace pipeline
