// A text of any length into morphemes, whatever the analyser makes of it. Rules: stages/segment_words.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace pipeline {

/// Finds the morphemes of a short text. One thread at a time; keeps nothing from call to call.
class Analyser {
 public:
  virtual ~Analyser() = default;
  /// Replaces `morphemes` by those of `text`, front to back, each with the white space in front of it;
  /// white space at the end of the text is in none. Valid as long as `text` and until the next call.
  /// False where it gives up.
  virtual bool Analyse(std::string_view text, std::vector<std::string_view>& morphemes) = 0;
};

inline constexpr std::size_t kMostAnalysedBytes = 8192;  // in one piece
inline constexpr std::size_t kForcedPieceBytes = 2048;   // where it holds no place to cut at

/// The front of a text that is analysed in one piece.
struct TextPiece {
  std::size_t bytes = 0;
  bool inside_sentence = false;  // it ends where no sentence does
};
/// `text` is not empty. The whole of it where that is short enough; never ends inside a character.
TextPiece FirstPiece(std::string_view text);

/// What happened to a text besides. Of many pieces, whether it happened to one.
struct WordFallbacks {
  bool cut_inside_sentence = false;
  bool analyser_failed = false;
  bool rejoin_mismatch = false;
};

/// One thread at a time.
class WordCutter {
 public:
  explicit WordCutter(std::unique_ptr<Analyser> analyser) : analyser_(std::move(analyser)) {}
  /// Appends to `cuts` where each morpheme of `text`, which is UTF-8, ends.
  WordFallbacks Cut(std::string_view text, std::vector<std::uint32_t>& cuts);

 private:
  void CutPiece(std::string_view piece, std::size_t offset, std::vector<std::uint32_t>& cuts,
                WordFallbacks& fallbacks);
  bool AppendMorphemes(std::string_view piece, std::size_t offset, std::vector<std::uint32_t>& cuts) const;

  std::unique_ptr<Analyser> analyser_;
  std::vector<std::string_view> morphemes_;
};

}  // namespace pipeline
