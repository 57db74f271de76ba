// The rules by which the stage `normalize` changes a line: stages/lines/normalize.md. The trainer applies the
// same rules to texts that its model reads.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/result.h"
#include "text/code_point_set.h"
#include "text/unicode.h"

namespace pipeline {

/// Values of the keys of `normalize` that change a line. The defaults are those of the stage.
struct TextForm {
  NormalForm form = NormalForm::kNfkc;
  Jamo jamo = Jamo::kCompose;
  LetterCase letter_case = LetterCase::kKeep;
  bool collapse = true;  // each run of white space becomes a space, and none is at the ends
};

/// The form and the case that a value of the key `form` or `case` names. Other text, "" among it: none.
NormalForm FormNamed(std::string_view name);
LetterCase CaseNamed(std::string_view name);

/// Normalizes lines. Immutable: threads share one. Takes milliseconds to make.
class TextNormalizer {
 public:
  explicit TextNormalizer(const TextForm& form);

  /// Appends the normalized `whole`, which may be empty and is valid UTF-8. Returns whether it differs from
  /// `whole`.
  Result<bool> Append(std::string_view whole, std::string& out) const;

 private:
  /// Bytes that stay as they are.
  struct StableRun {
    std::size_t joins;  // the last character, because the text behind may join it; `stop` if there is none
    std::size_t stop;   // their end: the end of the line, or the first character that may change
  };

  StableRun StableRunAt(std::string_view line, std::size_t at) const;
  std::size_t WorthCopyingAt(std::string_view line, std::size_t stop) const;
  Status Lower(std::string& out, std::size_t begin) const;

  TextForm form_;
  CodePointSet stable_;
};

}  // namespace pipeline
