#include "stages/lines/mix_source.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/digest.h"
#include "base/str.h"
#include "stages/lines/barrier_source.h"

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

class MixStream final : public RecordStream {
 public:
  MixStream(const MixRules& rules, std::vector<Corpus> corpora, std::vector<double> rates,
            const IntermediateFormat& format, const Schema& schema, std::stop_token stop)
      : seed_(rules.seed),
        corpora_(std::move(corpora)),
        rates_(std::move(rates)),
        schema_(schema),
        reading_{format, schema_, std::move(stop)},
        mixed_(MixedSplit(schema)) {}

  Result<bool> Next() override {
    if (there_) ++row_, there_ = false;
    while (true) {
      for (; row_ < read_.size(); ++row_)
        if (Take()) return there_ = true;
      if (!source_) {
        if (!FindPiece()) return false;
        ASSIGN_OR_RETURN(source_, reading_.Open(corpora_[corpus_], output_));
      }
      read_.Clear(1);
      row_ = 0;
      const Result<bool> more = source_->Next(read_);
      if (!more.ok()) return OutputErrorOf(corpora_[corpus_].stage, more.status());
      if (*more) continue;
      source_.reset();
      ++output_;
    }
  }

  const Batch& batch() const override { return read_; }
  std::size_t row() const override { return row_; }
  std::uint64_t document() const override { return document_; }

  StageCounts Outside() const override {
    StageCounts outside;
    if (left_out_ > 0) outside.Add("left_out", left_out_);
    if (copies_ > 0) outside.Add("copies", copies_);
    return outside;
  }

 private:
  /// Finds the next partition output that is read in this pass; false: there is none.
  bool FindPiece() {
    while (true) {
      if (output_ < corpora_[corpus_].outputs.size() && IsRead()) return true;
      output_ = 0;
      in_document_.reset();
      if (++corpus_ < corpora_.size()) continue;
      corpus_ = 0;
      ++copy_;
      if (std::none_of(rates_.begin(), rates_.end(), [this](double rate) { return copy_ < std::ceil(rate); }))
        return false;
    }
  }
  /// The first pass reads every corpus, because it also gives the splits that are not mixed.
  bool IsRead() const { return copy_ == 0 || copy_ < std::ceil(rates_[corpus_]); }

  /// Returns whether the record at row_ belongs to this pass. It begins a document if the last record was of
  /// another one.
  bool Take() {
    const RecordHead& head = read_.heads[row_];
    const bool is_mixed = !mixed_ || read_.split[row_] == *mixed_;
    const bool comes = is_mixed ? copy_ < Copies(head.document) : copy_ == 0;
    if (!comes) {
      if (copy_ == 0) ++left_out_;
      return false;
    }
    if (copy_ > 0) ++copies_;
    const std::pair<std::uint32_t, std::uint64_t> here = {read_.partition.input, head.document};
    if (in_document_ != here) {
      in_document_ = here;
      document_ = next_document_++;
    }
    return true;
  }

  /// Returns the number of copies of a document: the whole part of its rate, and by chance one more for the
  /// fraction.
  double Copies(std::uint64_t document) const {
    const double rate = rates_[corpus_], whole = std::floor(rate);
    Hasher hasher;
    hasher.UpdateU64(seed_).UpdateU64(corpus_).UpdateU64(read_.partition.input).UpdateU64(document);
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
  std::size_t output_ = 0;          // the one that is read now or next
  std::unique_ptr<Source> source_;  // of the partition output; null between partition outputs
  Batch read_;                      // of source_
  std::size_t row_ = 0;             // of read_
  bool there_ = false;              // row_ is the record that Next gave

  std::optional<std::pair<std::uint32_t, std::uint64_t>>
      in_document_;  // input and ordinal, of the last record
  std::uint64_t document_ = 0, next_document_ = 0;
  std::uint64_t left_out_ = 0, copies_ = 0;  // records
};

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
  return std::make_unique<BarrierSource>(
      std::make_unique<MixStream>(rules, corpora, std::move(rates), format, schema, request.stop),
      rules.partition_bytes, std::move(request.wanted), request.batch_bytes);
}

}  // namespace pipeline
