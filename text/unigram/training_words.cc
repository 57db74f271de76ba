#include "text/unigram/training_words.h"

#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <tuple>
#include <utility>

#include "text/code_point_set.h"
#include "text/unigram/stoppable_sort.h"
#include "text/utf8.h"

namespace pipeline {

namespace {

using Counted = std::vector<std::pair<std::string_view, std::uint64_t>>;

constexpr std::size_t kCodePoints = 0x110000;
constexpr std::size_t kWordsBetweenStops = 1 << 12;     // words
constexpr double kMostCharacters = 9007199254740992.0;  // 2^53

char32_t CharacterOf(std::string_view text) {
  std::array<char32_t, 1> one{};
  return DecodeUtf8(text, one) == 1 ? one[0] : 0;
}

/// Calls `take` with each character of `text` and its number.
template <class Take>
void ForEachCharacter(std::string_view text, const Take& take) {
  while (!text.empty()) {
    const std::size_t size = std::min(Utf8Size(text.front()), text.size());
    take(text.substr(0, size), CharacterOf(text.substr(0, size)));
    text.remove_prefix(size);
  }
}

/// Cuts words at texts of a list; the longest one that begins at a character counts.
class ReservedTexts {
 public:
  explicit ReservedTexts(std::vector<std::string> texts) : texts_(std::move(texts)) {
    std::sort(texts_.begin(), texts_.end(), [](const std::string& a, const std::string& b) {
      return a.size() != b.size() ? a.size() > b.size() : a < b;
    });
    for (const std::string& text : texts_)
      if (!text.empty()) first_[static_cast<unsigned char>(text.front())] = true;
  }

  bool empty() const { return texts_.empty(); }

  /// Returns the bytes of the reserved text at the front of `text`; 0: there is none.
  std::size_t Match(std::string_view text) const {
    if (!first_[static_cast<unsigned char>(text.front())]) return 0;
    for (const std::string& reserved : texts_)
      if (!reserved.empty() && text.starts_with(reserved)) return reserved.size();
    return 0;
  }

 private:
  std::vector<std::string> texts_;
  std::array<bool, 256> first_{};
};

/// Calls `take` with each word and its count. False: stopped.
template <class Take>
bool ForEachWord(const Counted& words, const std::stop_token& stop, const Take& take) {
  for (std::size_t word = 0; word < words.size(); ++word) {
    if (word % kWordsBetweenStops == 0 && stop.stop_requested()) return false;
    take(words[word].first, words[word].second);
  }
  return true;
}

/// Replaces the words by their parts between reserved texts. False: stopped.
bool CutAtReserved(const ReservedTexts& reserved, const std::stop_token& stop, Counted& words) {
  if (reserved.empty()) return true;
  Counted parts;
  parts.reserve(words.size());
  const auto cut = [&](std::string_view word, std::uint64_t count) {
    std::size_t begin = 0;
    for (std::size_t at = 0; at < word.size();) {
      const std::size_t bytes = reserved.Match(word.substr(at));
      if (bytes == 0) {
        at += Utf8Size(word[at]);
        continue;
      }
      if (at > begin) parts.emplace_back(word.substr(begin, at - begin), count);
      begin = at += bytes;
    }
    if (begin < word.size()) parts.emplace_back(word.substr(begin), count);
  };
  if (!ForEachWord(words, stop, cut)) return false;
  words = std::move(parts);
  return true;
}

/// Replaces the words by their parts without characters that have no number, sorted and each once. False:
/// stopped.
bool CutAtOthers(const std::vector<std::uint32_t>& number_of, const std::stop_token& stop, Counted& words) {
  Counted parts;
  parts.reserve(words.size());
  const auto cut = [&](std::string_view word, std::uint64_t count) {
    std::size_t begin = 0, at = 0;
    const auto keep = [&, count] {
      if (at > begin) parts.emplace_back(word.substr(begin, at - begin), count);
    };
    ForEachCharacter(word, [&](std::string_view bytes, char32_t character) {
      if (number_of[character] == 0) {
        keep();
        begin = at + bytes.size();
      }
      at += bytes.size();
    });
    keep();
  };
  if (!ForEachWord(words, stop, cut)) return false;
  // The order of equal parts is without effect: their counts are added.
  if (!SortUnlessStopped(parts, words, std::less<>(), stop)) return false;
  std::size_t distinct = 0;
  for (const auto& [text, count] : parts) {
    if (distinct > 0 && parts[distinct - 1].first == text)
      parts[distinct - 1].second += count;
    else
      parts[distinct++] = {text, count};
  }
  parts.resize(distinct);
  words = std::move(parts);
  return true;
}

/// Halves all counts until characters times counts are few enough. Words have less than 2^32 characters.
void LimitCounts(Counted& words) {
  std::uint64_t high = 0, low = 0;  // in units of 2^32, and the rest
  for (const auto& [word, count] : words) {
    const std::uint64_t characters = CountCharacters(word);
    high += (count >> 32) * characters;
    low += (count & 0xffffffff) * characters;
  }
  int shift = 0;
  for (double all = static_cast<double>(high) * 0x1p32 + static_cast<double>(low); all >= kMostCharacters;
       all /= 2)
    ++shift;
  if (shift > 0)
    for (auto& [word, count] : words) count = std::max<std::uint64_t>(count >> shift, 1);
}

/// Numbers the most frequent characters that make up the wanted share, and the required ones. Code points
/// decide between equal counts. `number_of` is 0 for all others. False:
/// stopped.
bool NumberCharacters(const Counted& words, const CharacterRules& rules, const std::stop_token& stop,
                      TrainingWords& out, std::vector<std::uint32_t>& number_of) {
  std::vector<double> counts(kCodePoints, 0);
  double all = 0;
  const auto add = [&](std::string_view word, std::uint64_t count) {
    ForEachCharacter(word, [&, number = static_cast<double>(count)](std::string_view, char32_t character) {
      counts[character] += number;
      all += number;
    });
  };
  if (!ForEachWord(words, stop, add)) return false;
  std::vector<char32_t> required;
  for (const std::string& text : rules.required)
    if (!text.empty()) required.push_back(CharacterOf(text));
  std::sort(required.begin(), required.end());
  std::vector<char32_t> order = required;
  for (char32_t character = 1; character < kCodePoints; ++character)
    if (counts[character] > 0) order.push_back(character);
  std::sort(order.begin(), order.end(), [&counts](char32_t a, char32_t b) {
    return std::tuple(-counts[a], a) < std::tuple(-counts[b], b);
  });
  order.erase(std::unique(order.begin(), order.end()), order.end());
  // As many as cover the share, and no character of the text is missing if all are wanted.
  const double wanted = all * rules.coverage;
  double covered = 0;
  out.characters = {""};
  for (const char32_t character : order) {
    const bool is_required = std::binary_search(required.begin(), required.end(), character);
    if (covered < wanted || is_required) {
      number_of[character] = static_cast<std::uint32_t>(out.characters.size());
      out.characters.emplace_back();
    }
    covered += counts[character];
  }
  return true;
}

}  // namespace

Result<TrainingWords> MakeTrainingWords(const CountedWords& words, const CharacterRules& rules,
                                        const std::stop_token& stop) {
  const Status stopped(Code::kCancelled, "stopped");
  Counted parts = words.All();
  if (!CutAtReserved(ReservedTexts(rules.reserved), stop, parts)) return stopped;
  std::uint64_t symbols = 0;
  if (!ForEachWord(parts, stop,
                   [&](std::string_view word, std::uint64_t) { symbols += CountCharacters(word) + 1; }))
    return stopped;
  if (symbols > std::numeric_limits<std::uint32_t>::max())
    return Status(Code::kResourceExhausted,
                  "the distinct words have more than 2^32 characters; train on a smaller sample");
  LimitCounts(parts);
  TrainingWords out;
  std::vector<std::uint32_t> number_of(kCodePoints, 0);
  if (!NumberCharacters(parts, rules, stop, out, number_of)) return stopped;
  std::array<char, 4> bytes;
  for (char32_t character = 0; character < kCodePoints; ++character)
    if (number_of[character] != 0) out.characters[number_of[character]] = EncodeCharacter(character, bytes);
  if (!CutAtOthers(number_of, stop, parts)) return stopped;

  out.symbols.reserve(symbols);
  out.begins.reserve(parts.size() + 1);
  out.counts.reserve(parts.size());
  const auto append = [&](std::string_view word, std::uint64_t count) {
    out.begins.push_back(static_cast<std::uint32_t>(out.symbols.size()));
    out.counts.push_back(count);
    ForEachCharacter(
        word, [&](std::string_view, char32_t character) { out.symbols.push_back(number_of[character]); });
    out.symbols.push_back(kWordEnd);
  };
  if (!ForEachWord(parts, stop, append)) return stopped;
  out.begins.push_back(static_cast<std::uint32_t>(out.symbols.size()));
  return out;
}

}  // namespace pipeline
