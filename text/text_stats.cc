#include "text/text_stats.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <string_view>

#include "text/utf8.h"

namespace pipeline {

namespace {

constexpr std::size_t kBits = 5;  // 32 bins for each power of two
constexpr std::uint64_t kBinsPerOctave = std::uint64_t{1} << kBits;

std::size_t BinOf(std::uint64_t number) {
  if (number < 2 * kBinsPerOctave) return number;
  const auto shift = static_cast<std::size_t>(std::bit_width(number)) - 1 - kBits;
  return shift * kBinsPerOctave + (number >> shift);
}

std::uint64_t LowestOf(std::size_t bin) {
  if (bin < 2 * kBinsPerOctave) return bin;
  const std::size_t shift = bin / kBinsPerOctave - 1;
  return (bin - shift * kBinsPerOctave) << shift;
}

std::uint64_t HighestOf(std::size_t bin) { return LowestOf(bin + 1) - 1; }

struct NamedFraction {
  std::string_view name;
  double fraction;
};
constexpr std::array<NamedFraction, 6> kQuantiles = {
    {{"0.05", 0.05}, {"0.25", 0.25}, {"0.5", 0.5}, {"0.75", 0.75}, {"0.95", 0.95}, {"0.99", 0.99}}};

}  // namespace

void Histogram::Add(std::uint64_t number) {
  const std::size_t bin = BinOf(number);
  if (bin >= bins_.size()) bins_.resize(bin + 1);
  ++bins_[bin];
  min_ = count_ == 0 ? number : std::min(min_, number);
  max_ = std::max(max_, number);
  sum_ += number;
  ++count_;
}

double Histogram::mean() const {
  return count_ == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(count_);
}

std::uint64_t Histogram::Quantile(double fraction) const {
  const auto wanted = static_cast<std::uint64_t>(std::ceil(fraction * static_cast<double>(count_)));
  std::uint64_t seen = 0;
  for (std::size_t bin = 0; bin < bins_.size(); ++bin) {
    seen += bins_[bin];
    if (seen >= std::max<std::uint64_t>(wanted, 1)) return std::min(HighestOf(bin), max_);
  }
  return max_;
}

std::vector<Histogram::Range> Histogram::Octaves() const {
  std::vector<Range> octaves;
  for (std::size_t bin = 0; bin < bins_.size(); ++bin) {
    const std::uint64_t low = std::bit_floor(LowestOf(bin));
    if (octaves.empty() ? bins_[bin] > 0 : octaves.back().low != low)
      octaves.push_back({low, low == 0 ? 0 : 2 * low - 1, 0});
    if (!octaves.empty()) octaves.back().count += bins_[bin];
  }
  return octaves;
}

void TextStats::Add(std::string_view text) {
  bytes_ += text.size();
  std::uint64_t length = 0;
  while (!text.empty()) {
    const auto piece = std::span(piece_).first(DecodeUtf8(text, piece_));
    classes_.Count(piece, counts_);
    length += piece.size();
  }
  characters_.Add(length);
}

Json Histogram::ToJson() const {
  Json json;
  json["sum"] = sum();
  json["min"] = min();
  json["mean"] = mean();
  json["max"] = max();
  for (const auto& [name, fraction] : kQuantiles) json["quantiles"][name] = Quantile(fraction);
  json["histogram"] = Json(Json::Array{});
  for (const Range& range : Octaves())
    json["histogram"].Append(Json(Json::Array{Json(range.low), Json(range.high), Json(range.count)}));
  return json;
}

Json TextStats::ToJson() const {
  Json json;
  json["records"] = characters_.count();
  json["bytes"] = bytes_;
  json["characters"] = characters_.ToJson();
  for (std::size_t i = 0; i < kCharacterClasses; ++i) {
    const auto character_class = static_cast<CharacterClass>(i);
    json["classes"][NameOf(character_class)] = counts_[character_class];
  }
  return json;
}

}  // namespace pipeline
