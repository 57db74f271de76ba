#include <algorithm>

#include "dag/pipeline_file/yaml.h"

namespace pipeline {

namespace {

class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  std::optional<OpenQuote> Run() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') {
        NextLine();
      } else if (IsBlank(c)) {
        ++at_;
      } else if (c == '#' && IsBehindSpace()) {
        at_ = EndOfLine();
      } else if (expects_value_ && (c == '"' || c == '\'')) {
        NoteToken();
        if (const auto open = Quoted()) return open;
        expects_value_ = false;
      } else {
        Other(c);
      }
    }
    return std::nullopt;
  }

 private:
  static bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
  bool IsSpaceAt(std::size_t at) const {
    return at >= text_.size() || text_[at] == '\n' || IsBlank(text_[at]);
  }
  bool IsBehindSpace() const { return at_ == 0 || IsSpaceAt(at_ - 1); }
  std::size_t EndOfLine() const { return std::min(text_.find('\n', at_), text_.size()); }
  bool IsFlowMark(char c) const { return depth_ > 0 && (c == ',' || c == ']' || c == '}'); }

  void NextLine() {
    line_ = ++at_;
    parent_ = token_ = std::nullopt;
    if (depth_ == 0) expects_value_ = true;  // a text in [ or { goes on
  }

  /// Notes the column of the first word of the line that is no dash: lines that are indented more belong to
  /// it.
  void NoteToken() {
    if (!token_) token_ = at_ - line_;
  }

  void Other(char c) {
    const bool ends_word = IsSpaceAt(at_ + 1);
    if (c == ':' && (ends_word || depth_ > 0)) {
      expects_value_ = true;
    } else if (c == '[' || c == '{') {
      ++depth_;
      expects_value_ = true;
    } else if (c == ']' || c == '}') {
      if (depth_ > 0) --depth_;
      expects_value_ = false;
    } else if (c == ',' && depth_ > 0) {
      expects_value_ = true;
    } else if ((c == '-' || c == '?') && ends_word && expects_value_) {
      if (!token_) parent_ = at_ - line_;
    } else if ((c == '&' || c == '!' || c == '*') && expects_value_) {
      NoteToken();
      while (!IsSpaceAt(at_) && !IsFlowMark(text_[at_])) ++at_;
      return;
    } else if ((c == '|' || c == '>') && expects_value_ && depth_ == 0) {
      return Block();
    } else {
      return Plain();
    }
    ++at_;
  }

  /// Skips a plain text: on one line, up to the character that may follow it; in a block, also the lines that
  /// continue it, in which quotes are ordinary characters.
  void Plain() {
    const std::optional<std::size_t> parent = token_ ? token_ : parent_;
    NoteToken();
    PlainLine();
    if (depth_ == 0 && parent && (at_ >= text_.size() || text_[at_] == '\n')) TakeIndented(*parent);
  }

  void PlainLine() {
    expects_value_ = false;
    for (++at_; at_ < text_.size() && text_[at_] != '\n'; ++at_) {
      if (text_[at_] == ':' && (IsSpaceAt(at_ + 1) || (depth_ > 0 && IsFlowMark(text_[at_ + 1])))) return;
      if (text_[at_] == '#' && IsBehindSpace()) return;
      if (IsFlowMark(text_[at_]) || (depth_ > 0 && (text_[at_] == '[' || text_[at_] == '{'))) return;
    }
  }

  void Block() {
    const std::optional<std::size_t> parent = token_ ? token_ : parent_;
    at_ = EndOfLine();
    TakeIndented(parent);
  }

  /// Skips, from the end of a line on, blank lines and the lines that are indented more than `parent`.
  void TakeIndented(std::optional<std::size_t> parent) {
    while (at_ < text_.size()) {
      const std::size_t begin = at_ + 1;
      const std::size_t first = std::min(text_.find_first_not_of(' ', begin), text_.size());
      const bool is_blank = first == text_.size() || text_[first] == '\n' || text_[first] == '\r';
      if (!is_blank && parent && first - begin <= *parent) return;
      at_ = begin;
      at_ = EndOfLine();
    }
  }

  std::optional<OpenQuote> Quoted() {
    const std::size_t opens = at_;
    const char quote = text_[at_++];
    for (; at_ < text_.size(); ++at_) {
      if (quote == '"' && text_[at_] == '\\') {
        ++at_;
      } else if (text_[at_] == quote) {
        if (quote == '"' || at_ + 1 >= text_.size() || text_[at_ + 1] != quote) break;
        ++at_;
      }
    }
    if (at_ >= text_.size()) return OpenQuote{opens, std::nullopt};
    const std::size_t closes = at_++;
    const bool has_lines = text_.substr(opens, closes - opens).find('\n') != std::string_view::npos;
    const std::size_t next = std::min(text_.find_first_not_of(" \t\r", at_), text_.size());
    const bool is_end = next == text_.size() || text_[next] == '\n' || IsFlowMark(text_[next]) ||
                        (text_[next] == '#' && next > at_);
    const bool is_key = next < text_.size() && text_[next] == ':' && !has_lines;
    if (is_end || is_key) return std::nullopt;
    return OpenQuote{opens, closes};
  }

  const std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_ = 0;               // offset of its beginning
  std::optional<std::size_t> parent_;  // column of the line's last dash
  std::optional<std::size_t> token_;   // column of its first word after the dashes
  std::size_t depth_ = 0;              // open [ and {
  bool expects_value_ = true;          // a quote here opens a scalar
};

}  // namespace

std::optional<OpenQuote> FindOpenQuote(std::string_view text) { return Scanner(text).Run(); }

}  // namespace pipeline
