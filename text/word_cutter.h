// Cuts a text of any length into morphemes, also if the analyser fails. Rules: stages/lines/segment_words.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace pipeline {

/// Finds the morphemes of a short text. One thread at a time; keeps no state between calls.
class Analyser {
 public:
  virtual ~Analyser() = default;
  /// Replaces `morphemes` by those of `text`, front to back, each with the white space in front of it.
  /// White space at the end of `text` belongs to none. Valid until the next call, while `text` exists.
  /// False: the analysis failed.
  virtual bool Analyse(std::string_view text, std::vector<std::string_view>& morphemes) = 0;
};

inline constexpr std::size_t kMostAnalysedBytes = 8192;  // in one call
inline constexpr std::size_t kForcedPieceBytes = 2048;   // of a part without a natural cut

/// Front of a text, analysed in one call.
struct TextPiece {
  std::size_t bytes = 0;
  bool inside_sentence = false;  // the part does not end with a sentence
};
/// Returns the first part of `text`, which is not empty; all of a short text. Never ends inside a
/// character.
TextPiece FirstPiece(std::string_view text);

/// Fallbacks that at least one part of a text needed.
struct WordFallbacks {
  bool cut_inside_sentence = false;
  bool analyser_failed = false;
  bool rejoin_mismatch = false;
};

/// One thread at a time.
class WordCutter {
 public:
  explicit WordCutter(std::unique_ptr<Analyser> analyser) : analyser_(std::move(analyser)) {}
  /// Appends the end of each morpheme of `text` (UTF-8) to `cuts`.
  WordFallbacks Cut(std::string_view text, std::vector<std::uint32_t>& cuts);

 private:
  void CutPiece(std::string_view piece, std::size_t offset, std::vector<std::uint32_t>& cuts,
                WordFallbacks& fallbacks);
  bool AppendMorphemes(std::string_view piece, std::size_t offset, std::vector<std::uint32_t>& cuts) const;

  std::unique_ptr<Analyser> analyser_;
  std::vector<std::string_view> morphemes_;
};

}  // namespace pipeline
