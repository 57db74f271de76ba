// Trains one SentencePiece model, from lines to the finished model. Rules:
// stages/tokenizer/train_tokenizer.md.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "formats/sentencepiece_model.h"
#include "stages/tokenizer/tokenizer_layout.h"
#include "text/unigram/pre_tokens.h"

namespace pipeline {

/// The borders that no piece crosses.
enum class Boundaries : std::uint8_t { kNone, kSpaces, kCuts, kCutsInWords, kScripts };

/// "none", "spaces", "cuts", "cuts_in_words", "scripts".
std::string_view BoundariesName(Boundaries boundaries);
std::optional<Boundaries> BoundariesNamed(std::string_view name);
/// True if each distinct morpheme is one word of the training.
constexpr bool OfDistinctMorphemes(Boundaries boundaries) {
  return boundaries == Boundaries::kCuts || boundaries == Boundaries::kCutsInWords;
}

struct TrainingSettings {
  const TokenizerLayout* layout = nullptr;
  Boundaries boundaries = Boundaries::kNone;
  std::string model = "unigram";  // or "bpe", "word", "char"
  bool by_library = false;        // if not, the model is unigram
  std::int64_t vocab_size = 0;    // a maximum if `fewer_will_do` or `is_auto`
  bool fewer_will_do = false;     // to compare tokenizers, not to use them
  bool is_auto = false;           // as many as the text has pieces for
  bool is_rough = false;          // our own trainer takes fewer steps: to compare tokenizers, not to use them
  bool byte_fallback = true;
  double character_coverage = 0.9995;
  std::int64_t max_piece_length = 16;  // in characters
  std::int64_t min_count = 1;          // our own trainer ignores words that occur less often
  std::vector<std::string> symbols;    // follow the symbols of the layout
  std::string pattern;                 // words also end where its matches begin and end; empty: none
};

struct TrainingCounts {
  std::uint64_t lines = 0;
  std::uint64_t bytes = 0;
  std::uint64_t sentences = 0;           // given to the library, or distinct words of our own trainer
  std::uint64_t morphemes = 0;           // all occurrences, if each distinct morpheme is a word
  std::uint64_t cuts_in_long_lines = 0;  // including cuts at reserved marks
};

/// The means of a training, and the receiver of its progress.
struct TrainingMeans {
  std::string program;       // path of `pipe`, which is started again as the library's process
  std::uint64_t memory = 0;  // kResourceExhausted once the text needs more; 0: no limit
  std::string scratch = {};  // directory for its files; empty: it has none
  std::size_t threads = 1;   // without effect on the model
  std::function<void(std::uint64_t done, std::uint64_t of)> progress = {};  // of Finish; may be empty
  std::stop_token stop = {};
};

/// The ends of the sizes of a vocabulary that a text is enough for, as far as they are known; 0: not known.
struct FoundSizes {
  std::int64_t least = 0;
  std::int64_t most = 0;
};

/// One thread, which must live until Finish has returned. Destroying it earlier ends the training.
class TokenizerTraining {
 public:
  virtual ~TokenizerTraining() = default;
  /// `cuts` is empty for kNone and kScripts.
  virtual Status Add(std::string_view line, std::span<const std::uint32_t> cuts) = 0;
  /// Returns the model with the layout's spacing, without machine-specific data and without sentinels.
  /// kFailedPrecondition if the text has too little for this many pieces, with a size that works.
  virtual Result<SentencePieceModel> Finish() = 0;

  const TrainingCounts& counts() const { return counts_; }
  /// The sizes that a trainer which knows only one end at once found while it refused the wanted size.
  const FoundSizes& found_sizes() const { return found_sizes_; }

 protected:
  TrainingCounts counts_;
  FoundSizes found_sizes_;
};

/// `text_bytes`: upper bound of the text to add.
Result<std::unique_ptr<TokenizerTraining>> StartTraining(const TrainingSettings& settings,
                                                         std::uint64_t text_bytes, TrainingMeans means);

/// The unit of estimates of memory.
inline constexpr std::uint64_t kMiB = 1 << 20;

/// Bytes of memory for training on this much text, in this process and the library's.
std::uint64_t TrainingMemory(const TrainingSettings& settings, std::uint64_t text_bytes, std::uint64_t lines);

/// The parts of words that get U+2581 in front. If a layout does not keep the text, its trainers put a space
/// in front of each line.
WordStarts WordStartsOf(const TrainingSettings& settings);

/// kResourceExhausted: the text so far needs more memory than there is. `memory` 0: no limit. `min_count`:
/// the least that would do for the text so far; 0: none is known.
Status CheckTrainingMemory(const TrainingSettings& settings, const TrainingCounts& counts,
                           std::uint64_t needed, std::uint64_t memory, std::uint64_t min_count = 0);

}  // namespace pipeline
