#include "text/bert_words.h"

#include <algorithm>

#include "text/bert_characters.h"
#include "text/code_point_set.h"

namespace pipeline {

namespace {

/// Returns the code point at `at` of UTF-8. If the text ends inside of it: U+FFFD, which is removed later.
char32_t CodePointAt(std::string_view text, std::size_t at, std::size_t& size) {
  const auto byte = [&](std::size_t i) { return char32_t{static_cast<unsigned char>(text[at + i])}; };
  const char32_t lead = byte(0);
  size = Utf8Size(text[at]);
  if (size == 1) return lead < 0x80 ? lead : char32_t{0xFFFD};
  if (size > text.size() - at) {
    size = text.size() - at;
    return 0xFFFD;
  }
  char32_t code_point = lead & (0x7Fu >> size);
  for (std::size_t i = 1; i < size; ++i) code_point = code_point << 6 | (byte(i) & 0x3F);
  return code_point <= 0x10FFFF ? code_point : char32_t{0xFFFD};
}

}  // namespace

void BertWords::Start(std::string_view text, BertWordKind kind, std::span<const std::uint32_t> cuts) {
  text_ = text;
  kind_ = kind;
  cuts_ = kind == BertWordKind::kMorphemes ? cuts : std::span<const std::uint32_t>();
  at_ = cut_ = 0;
}

bool BertWords::Next() {
  characters_ = 0;
  copied_ = false;
  std::size_t end = at_;  // end of the word so far
  while (at_ < text_.size()) {
    while (cut_ < cuts_.size() && cuts_[cut_] <= at_) {
      if (characters_ > 0 && cuts_[cut_] == at_) break;
      ++cut_;
    }
    if (characters_ > 0 && cut_ < cuts_.size() && cuts_[cut_] == at_) break;  // a morpheme ends here
    std::size_t size = 1;
    const BertCharacter kind = BertCharacterOf(CodePointAt(text_, at_, size));
    if (kind == BertCharacter::kRemoved) {
      if (characters_ > 0 && !copied_) Copy(begin_, end);
      at_ += size;
      continue;
    }
    if (kind == BertCharacter::kSpace) {
      at_ += size;
      if (characters_ > 0) break;
      continue;
    }
    const bool alone = kind == BertCharacter::kAlone && kind_ == BertWordKind::kText;
    if (alone && characters_ > 0) break;
    if (characters_++ == 0) begin_ = at_;
    if (copied_) Copy(at_, at_ + size);
    at_ += size;
    end = at_;
    if (alone) break;
  }
  if (characters_ == 0) return false;
  word_ = copied_ ? std::string_view(copy_) : text_.substr(begin_, end - begin_);
  return true;
}

/// Appends the characters of the text in [begin, end) to the copy; the first call begins the copy.
void BertWords::Copy(std::size_t begin, std::size_t end) {
  if (!copied_) copy_.clear(), ends_.clear();
  copied_ = true;
  while (begin < end) {
    const std::size_t size = std::min(Utf8Size(text_[begin]), end - begin);
    copy_.append(text_.substr(begin, size));
    begin += size;
    ends_.insert(ends_.end(), size, static_cast<std::uint32_t>(begin));
  }
}

}  // namespace pipeline
