#include "text/wordpiece_trainer.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "base/str.h"
#include "text/code_point_set.h"
#include "text/vocabulary_sizes.h"
#include "text/wordpiece.h"

namespace pipeline {

namespace {

constexpr std::int64_t kLeastCount = 2;  // a pair with a lower count is not merged
constexpr std::uint32_t kNowhere = UINT32_MAX;

/// Returns log2 in units of 2^-16, computed with integers alone: floating point may round otherwise on
/// another machine.
std::int64_t Log2(std::uint64_t number) {
  const int whole = static_cast<int>(std::bit_width(number)) - 1;
  std::uint64_t mantissa = whole >= 31 ? number >> (whole - 31) : number << (31 - whole);  // [2^31, 2^32)
  std::int64_t log = whole;
  for (int bit = 0; bit < 16; ++bit) {
    mantissa = mantissa * mantissa >> 31;
    log <<= 1;
    if (mantissa >> 32 != 0) mantissa >>= 1, log |= 1;
  }
  return log;
}

/// Calls `take` for each character of `text`.
template <class Take>
void ForEachCharacter(std::string_view text, const Take& take) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = std::min(Utf8Size(text[at]), text.size() - at);
    take(text.substr(at, size), at == 0);
    at += size;
  }
}

struct Symbol {
  std::string text;  // without "##"
  bool inside;       // continues a word
  std::uint32_t characters;
  std::int64_t count = 0;
  std::int64_t log = 0;                // log of `count`
  std::vector<std::uint32_t> pairs{};  // pairs that contain it; some may be gone
};

struct Pair {
  std::uint32_t left, right;
  std::int64_t count = 0;
  std::int64_t score = 0;
  std::uint32_t place = kNowhere;  // index in the heap
  bool gone = false;
  // Words that contained it, without repetition in a row; some do not contain it any more.
  std::vector<std::uint32_t> words{};
};

class Trainer {
 public:
  explicit Trainer(const WordPieceRules& rules) : rules_(rules) {}

  Result<std::vector<std::string>> Run(const WordCounts& counts, const std::stop_token& stop) {
    Load(counts.Sorted(), stop);
    if (stop.stop_requested()) return Status(Code::kCancelled, "stopped");
    const std::size_t characters = symbols_.size();
    if (characters == 0)
      return Status(Code::kFailedPrecondition, "there is no text to train on; is the split `train` empty?");
    const bool too_few = characters > rules_.pieces;
    for (std::uint32_t pair = 0; pair < pairs_.size(); ++pair) Update(pair);
    // The message about a refused size has the greatest one that works.
    while (symbols_.size() < (too_few ? kMaxWordPieces - rules_.other_pieces : rules_.pieces) &&
           !heap_.empty()) {
      if (stop.stop_requested()) return Status(Code::kCancelled, "stopped");
      Merge(heap_.front());
    }
    if (too_few || (symbols_.size() < rules_.pieces && !rules_.fewer_will_do))
      return RefuseVocabularySize(rules_.pieces + rules_.other_pieces, rules_.fewer_will_do,
                                  {characters + rules_.other_pieces, symbols_.size() + rules_.other_pieces});
    std::vector<std::string> pieces;
    pieces.reserve(symbols_.size());
    for (const Symbol& symbol : symbols_)
      pieces.push_back(symbol.inside ? StrCat(kContinuation, symbol.text) : symbol.text);
    return pieces;
  }

 private:
  static std::uint64_t KeyOf(std::uint32_t left, std::uint32_t right) {
    return std::uint64_t{left} << 32 | right;
  }

  /// Loads the words, or the first of them if `stop` comes.
  void Load(const std::vector<std::pair<std::string_view, std::uint64_t>>& words,
            const std::stop_token& stop) {
    const std::map<std::string_view, std::uint64_t> kept = Characters(words);
    // The symbols of characters are in the order of their bytes.
    std::map<std::pair<std::string_view, bool>, std::uint32_t> ids;
    const auto every = [&](const auto& take) {
      for (const auto& [word, count] : words) {
        if (stop.stop_requested()) return;
        bool whole = true;
        ForEachCharacter(word, [&](std::string_view character, bool) {
          whole = whole && kept.find(character) != kept.end();
        });
        if (whole) take(word, static_cast<std::int64_t>(count));
      }
    };
    every([&](std::string_view word, std::int64_t) {
      ForEachCharacter(word, [&](std::string_view character, bool first) {
        ids.emplace(std::pair(character, !first), 0);
      });
    });
    for (auto& [key, id] : ids) {
      id = static_cast<std::uint32_t>(symbols_.size());
      symbols_.push_back({std::string(key.first), key.second, 1});
      by_text_.emplace(TextKey(key.first, key.second), id);
    }
    every([&](std::string_view word, std::int64_t count) {
      const auto number = static_cast<std::uint32_t>(counts_.size());
      counts_.push_back(count);
      begins_.push_back(tokens_.size());
      ForEachCharacter(word, [&](std::string_view character, bool first) {
        const std::uint32_t id = ids.find(std::pair(character, !first))->second;
        symbols_[id].count += count;
        all_ += static_cast<std::uint64_t>(count);
        tokens_.push_back(id);
      });
      lengths_.push_back(static_cast<std::uint32_t>(tokens_.size() - begins_.back()));
      AddPairs(number, count);
    });
    for (Symbol& symbol : symbols_) symbol.log = Log2(static_cast<std::uint64_t>(symbol.count));
    all_log_ = all_ > 0 ? Log2(all_) : 0;
  }

  /// Returns the most frequent characters that make up the wanted share; bytes decide between equal counts.
  std::map<std::string_view, std::uint64_t> Characters(
      const std::vector<std::pair<std::string_view, std::uint64_t>>& words) const {
    std::map<std::string_view, std::uint64_t> counts;
    std::unordered_map<std::string_view, std::uint64_t> found;
    std::uint64_t all = 0;
    for (const auto& [word, count] : words)
      ForEachCharacter(word, [&, number = count](std::string_view character, bool) {
        found[character] += number;
        all += number;
      });
    std::vector<std::pair<std::string_view, std::uint64_t>> sorted(found.begin(), found.end());
    std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
      return std::tie(b.second, a.first) < std::tie(a.second, b.first);
    });
    const auto wanted =
        static_cast<std::uint64_t>(std::ceil(static_cast<double>(all) * rules_.character_coverage));
    std::uint64_t covered = 0;
    for (const auto& [character, count] : sorted) {
      if (covered >= wanted) break;
      covered += count;
      counts.emplace(character, count);
    }
    return counts;
  }

  static std::string TextKey(std::string_view text, bool inside) {
    return StrCat(inside ? "##" : "", text, "\n");
  }

  /// Adds `by`, which may be negative, to the counts of all pairs of a word. After a merge only pairs with
  /// the symbol `made` are new: the other pairs have the word already, or were dropped because they are rare.
  void AddPairs(std::uint32_t word, std::int64_t by, std::optional<std::uint32_t> made = std::nullopt) {
    const std::size_t begin = begins_[word];
    for (std::size_t at = begin; at + 1 < begin + lengths_[word]; ++at) {
      const std::uint64_t key = KeyOf(tokens_[at], tokens_[at + 1]);
      const bool is_new = by > 0 && (!made || tokens_[at] == *made || tokens_[at + 1] == *made);
      auto found = pair_of_.find(key);
      if (found == pair_of_.end()) {
        if (!is_new) continue;
        found = pair_of_.emplace(key, static_cast<std::uint32_t>(pairs_.size())).first;
        symbols_[tokens_[at]].pairs.push_back(found->second);
        if (tokens_[at] != tokens_[at + 1]) symbols_[tokens_[at + 1]].pairs.push_back(found->second);
        pairs_.push_back({tokens_[at], tokens_[at + 1]});
      }
      Pair& pair = pairs_[found->second];
      pair.count += by;
      if (is_new && (pair.words.empty() || pair.words.back() != word)) pair.words.push_back(word);
    }
  }

  void Merge(std::uint32_t merged) {
    const std::uint32_t left = pairs_[merged].left, right = pairs_[merged].right;
    const std::vector<std::uint32_t> words = std::move(pairs_[merged].words);
    const std::uint32_t made = SymbolOf(left, right);
    for (const std::uint32_t word : words) {
      if (!Has(word, left, right)) continue;
      const std::int64_t count = counts_[word];
      AddPairs(word, -count);
      std::size_t to = begins_[word];
      const std::size_t end = to + lengths_[word];
      for (std::size_t from = to; from < end; ++from, ++to) {
        if (from + 1 < end && tokens_[from] == left && tokens_[from + 1] == right) {
          tokens_[to] = made;
          symbols_[left].count -= count, symbols_[right].count -= count, symbols_[made].count += count;
          ++from;
        } else {
          tokens_[to] = tokens_[from];
        }
      }
      lengths_[word] = static_cast<std::uint32_t>(to - begins_[word]);
      AddPairs(word, count, made);
    }
    LetGo(merged);
    for (const std::uint32_t symbol : {left, right, made})
      if (symbols_[symbol].count > 0)
        symbols_[symbol].log = Log2(static_cast<std::uint64_t>(symbols_[symbol].count));
    for (const std::uint32_t symbol : {left, right, made}) UpdatePairsOf(symbol);
  }

  bool Has(std::uint32_t word, std::uint32_t left, std::uint32_t right) const {
    const std::size_t begin = begins_[word];
    for (std::size_t at = begin; at + 1 < begin + lengths_[word]; ++at)
      if (tokens_[at] == left && tokens_[at + 1] == right) return true;
    return false;
  }

  /// Returns the symbol of the two joined texts: a merge of other pairs may have made the same piece.
  std::uint32_t SymbolOf(std::uint32_t left, std::uint32_t right) {
    const std::string text = symbols_[left].text + symbols_[right].text;
    const bool inside = symbols_[left].inside;
    const auto [found, is_new] =
        by_text_.emplace(TextKey(text, inside), static_cast<std::uint32_t>(symbols_.size()));
    if (is_new) symbols_.push_back({text, inside, symbols_[left].characters + symbols_[right].characters});
    return found->second;
  }

  void UpdatePairsOf(std::uint32_t symbol) {
    std::vector<std::uint32_t>& pairs = symbols_[symbol].pairs;
    std::size_t kept = 0;
    for (const std::uint32_t pair : pairs) {
      if (pairs_[pair].gone) continue;
      Update(pair);
      if (!pairs_[pair].gone) pairs[kept++] = pair;
    }
    pairs.resize(kept);
  }

  void Update(std::uint32_t number) {
    Pair& pair = pairs_[number];
    const Symbol& left = symbols_[pair.left];
    const Symbol& right = symbols_[pair.right];
    if (pair.count < kLeastCount || left.characters + right.characters > rules_.max_characters ||
        IsSpecial(left, right))
      return LetGo(number);
    pair.score =
        (Log2(static_cast<std::uint64_t>(pair.count)) + all_log_ - left.log - right.log) * pair.count;
    if (pair.place == kNowhere) {
      pair.place = static_cast<std::uint32_t>(heap_.size());
      heap_.push_back(number);
    }
    SiftUp(pair.place);
    SiftDown(pair.place);
  }

  static bool IsSpecial(const Symbol& left, const Symbol& right) {
    return !left.inside && left.text.starts_with('[') && right.text.ends_with(']') &&
           IsSpecialPiece(left.text + right.text);
  }

  void LetGo(std::uint32_t number) {
    Pair& pair = pairs_[number];
    if (pair.gone) return;
    pair.gone = true;
    pair.words = {};
    pair_of_.erase(KeyOf(pair.left, pair.right));
    if (pair.place == kNowhere) return;
    const std::uint32_t place = std::exchange(pair.place, kNowhere);
    const std::uint32_t last = heap_.back();
    heap_.pop_back();
    if (last == number) return;
    heap_[place] = last;
    pairs_[last].place = place;
    SiftUp(place);
    SiftDown(pairs_[last].place);
  }

  /// Returns whether `a` is merged before `b`.
  bool Before(std::uint32_t a, std::uint32_t b) const {
    const Pair& one = pairs_[a];
    const Pair& other = pairs_[b];
    if (one.score != other.score) return one.score > other.score;
    return std::tie(one.left, one.right) < std::tie(other.left, other.right);
  }

  void SiftUp(std::uint32_t place) {
    for (; place > 0 && Before(heap_[place], heap_[(place - 1) / 2]); place = (place - 1) / 2)
      Swap(place, (place - 1) / 2);
  }
  void SiftDown(std::uint32_t place) {
    while (true) {
      std::uint32_t first = place;
      for (std::uint32_t child = 2 * place + 1; child <= 2 * place + 2 && child < heap_.size(); ++child)
        if (Before(heap_[child], heap_[first])) first = child;
      if (first == place) return;
      Swap(place, first);
      place = first;
    }
  }
  void Swap(std::uint32_t a, std::uint32_t b) {
    std::swap(heap_[a], heap_[b]);
    pairs_[heap_[a]].place = a;
    pairs_[heap_[b]].place = b;
  }

  const WordPieceRules rules_;
  std::vector<Symbol> symbols_;
  std::unordered_map<std::string, std::uint32_t> by_text_;
  std::vector<Pair> pairs_;
  std::unordered_map<std::uint64_t, std::uint32_t> pair_of_;  // the existing pairs
  std::vector<std::uint32_t> heap_;                           // numbers of pairs; the next merge is first
  // The words: their symbols back to back, and their counts.
  std::vector<std::uint32_t> tokens_;
  std::vector<std::size_t> begins_;
  std::vector<std::uint32_t> lengths_;
  std::vector<std::int64_t> counts_;
  std::uint64_t all_ = 0;  // characters of all words
  std::int64_t all_log_ = 0;
};

}  // namespace

void WordCounts::Add(std::string_view word) {
  ++total_;
  const auto found = counts_.find(word);
  if (found != counts_.end()) {
    ++found->second;
    return;
  }
  counts_.emplace(word, 1);
  bytes_ += word.size();
}

// The numbers are a little above measurements with Japanese prose.
std::uint64_t WordCounts::training_memory() const { return distinct() * 400 + bytes_ * 8; }

std::vector<std::pair<std::string_view, std::uint64_t>> WordCounts::Sorted() const {
  std::vector<std::pair<std::string_view, std::uint64_t>> sorted(counts_.begin(), counts_.end());
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

Result<std::vector<std::string>> TrainWordPieces(const WordCounts& counts, const WordPieceRules& rules,
                                                 std::stop_token stop) {
  return Trainer(rules).Run(counts, stop);
}

}  // namespace pipeline
