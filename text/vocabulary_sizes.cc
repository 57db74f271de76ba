#include "text/vocabulary_sizes.h"

#include <string>

#include "base/str.h"

namespace pipeline {

Status RefuseVocabularySize(std::size_t wanted, bool is_auto, const VocabularySizes& sizes) {
  const std::string works = sizes.least < sizes.most ? StrCat(sizes.least, " to ", sizes.most, " would do")
                                                     : StrCat(sizes.least, " would do");
  std::string why;
  if (wanted < sizes.least)
    why = StrCat(is_auto ? "auto takes at most " : "", wanted, is_auto ? ", which" : "",
                 " is too few: the special pieces and the characters that character_coverage asks for are ",
                 sizes.least, " already; ", works, is_auto ? "" : ", or `vocab_size: auto`",
                 ", or a lower character_coverage");
  else
    why = StrCat(wanted, " is more than this text has pieces for; ", works,
                 ", or `vocab_size: auto`, or more text");
  return Status(Code::kFailedPrecondition, StrCat("vocab_size: ", why));
}

}  // namespace pipeline
