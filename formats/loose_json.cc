#include "formats/loose_json.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdlib>

#include "base/str.h"
#include "base/words.h"
#include "text/utf8.h"

namespace pipeline {

namespace {

constexpr std::size_t kEscapeBytes = 6;  // \uXXXX
constexpr std::array<std::string_view, 3> kNumbers = {"NaN", "-Infinity", "Infinity"};

/// Returns the 16 bits of an escape \uXXXX at the front of `text`. Absent: there is none.
std::optional<unsigned> UnitAt(std::string_view text) {
  if (text.size() < kEscapeBytes || !text.starts_with("\\u")) return std::nullopt;
  return ParseNumber<unsigned>(text.substr(2, 4), 16);
}

bool IsHigh(std::optional<unsigned> unit) { return unit && *unit >= 0xd800 && *unit < 0xdc00; }
bool IsLow(std::optional<unsigned> unit) { return unit && *unit >= 0xdc00 && *unit < 0xe000; }

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

/// Removes the digits from the front of `text`, and returns whether there were any.
bool TakeDigits(std::string_view& text) {
  const std::size_t before = text.size();
  while (!text.empty() && IsDigit(text.front())) text.remove_prefix(1);
  return text.size() < before;
}

/// Returns the number at the front of `text` in the grammar of RFC 8259. Empty: there is none.
std::string_view NumberAt(std::string_view text) {
  std::string_view rest = text;
  if (rest.starts_with('-')) rest.remove_prefix(1);
  const bool is_zero = rest.starts_with('0');
  const std::size_t digits = rest.size();
  if (!TakeDigits(rest) || (is_zero && digits - rest.size() > 1)) return {};
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    if (!TakeDigits(rest)) return {};
  }
  if (rest.starts_with('e') || rest.starts_with('E')) {
    rest.remove_prefix(1);
    if (rest.starts_with('+') || rest.starts_with('-')) rest.remove_prefix(1);
    if (!TakeDigits(rest)) return {};
  }
  return text.substr(0, text.size() - rest.size());
}

bool IsTooLarge(std::string_view number) {
  return !number.empty() && std::isinf(std::strtod(std::string(number).c_str(), nullptr));
}

class Rewriter {
 public:
  /// `surrogates`: change lone surrogates alone, and in each string.
  Rewriter(std::string_view object, std::span<const std::string> wanted, bool surrogates)
      : rest_(object), wanted_(wanted), surrogates_(surrogates) {}

  std::optional<std::string> Run() {
    while (!rest_.empty()) Step();
    if (!changed_) return std::nullopt;
    return std::move(out_);
  }

 private:
  void Step() {
    const char c = rest_.front();
    switch (c) {
      case '"': {
        const std::string_view text = TakeString();
        if (depth_ == 1 && at_name_)
          loose_ = !surrogates_ && text.find('\\') == std::string_view::npos &&
                   std::find(wanted_.begin(), wanted_.end(), text) == wanted_.end();
        return;
      }
      case '{':
      case '[':
        ++depth_;
        at_name_ = c == '{' && depth_ == 1;
        break;
      case '}':
      case ']':
        if (depth_ > 0) --depth_;
        break;
      case ':':
      case ',':
        if (depth_ == 1) at_name_ = c == ',';
        break;
      default:
        if (depth_ >= 1 && loose_ && !at_name_) {
          if (const std::string_view number = NumberAt(rest_); !number.empty()) {
            if (IsTooLarge(number)) {
              out_ += "null";
              rest_.remove_prefix(number.size());
              changed_ = true;
            } else {
              Copy(number.size());
            }
            return;
          }
          for (const std::string_view number : kNumbers)
            if (rest_.starts_with(number)) {
              out_ += "null";
              rest_.remove_prefix(number.size());
              changed_ = true;
              return;
            }
        }
    }
    Copy(1);
  }

  /// Copies a string with its quotes, or makes it strict; returns the text between the quotes.
  std::string_view TakeString() {
    const bool is_loose = surrogates_ || (loose_ && !(depth_ == 1 && at_name_));
    const std::string_view from = rest_.substr(1);
    Copy(1);
    while (!rest_.empty() && rest_.front() != '"') {
      const std::optional<unsigned> unit = UnitAt(rest_);
      if (is_loose && IsHigh(unit) && IsLow(UnitAt(rest_.substr(kEscapeBytes)))) {
        Copy(2 * kEscapeBytes);
      } else if (is_loose && (IsHigh(unit) || IsLow(unit))) {
        out_ += "\\ufffd";
        rest_.remove_prefix(kEscapeBytes);
        changed_ = true;
      } else {
        Copy(rest_.front() == '\\' && rest_.size() > 1 ? 2 : 1);
      }
    }
    const std::string_view text = from.substr(0, from.size() - rest_.size());
    if (!rest_.empty()) Copy(1);
    return text;
  }

  void Copy(std::size_t bytes) {
    out_ += rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
  }

  std::string_view rest_;
  const std::span<const std::string> wanted_;
  const bool surrogates_;
  std::string out_;
  std::size_t depth_ = 0;
  bool at_name_ = false;  // at depth 1: the next string is a name
  bool loose_ = false;    // nobody reads the member at depth 1 that has this value
  bool changed_ = false;
};

void TakeSpaces(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
}

/// Removes the value at the front of `text`: a string, an object or array by its brackets, or all bytes up to
/// the next of `,]}`. Returns false if it does not end in `text`.
bool TakeValue(std::string_view& text) {
  std::size_t depth = 0;
  bool in_string = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (in_string) {
      if (c == '\\') ++at;
      if (c != '"') continue;
      in_string = false;
    } else if (c == '"') {
      in_string = true;
      continue;
    } else if (c == '{' || c == '[') {
      ++depth;
      continue;
    } else if (c == '}' || c == ']' || c == ',') {
      if (depth == 0) {
        text.remove_prefix(at);
        return true;
      }
      if (c == ',' || --depth > 0) continue;
    } else {
      continue;
    }
    if (depth > 0) continue;
    text.remove_prefix(at + 1);
    return true;
  }
  return false;
}

/// Between strings control characters are white space, or the row is no JSON for another reason.
bool HasControlInString(std::string_view row) {
  bool in_string = false;
  for (std::size_t at = 0; at < row.size(); ++at) {
    if (row[at] == '"')
      in_string = !in_string;
    else if (in_string && row[at] == '\\')
      ++at;
    else if (in_string && static_cast<unsigned char>(row[at]) < ' ')
      return true;
  }
  return false;
}

}  // namespace

std::string ListAdvice(std::string_view list) {
  const bool is_word = std::all_of(list.begin(), list.end(), [](char c) {
    return c == '_' || IsDigit(c) ||
           (static_cast<char>(c | 0x20) >= 'a' && static_cast<char>(c | 0x20) <= 'z');
  });
  return StrCat("'", Printable(list), "' is a list of objects: `jq -c '.",
                is_word && !IsDigit(list.front()) ? Printable(list) : StrCat("[\"", Printable(list), "\"]"),
                "[]' FILE` makes lines of it");
}

std::optional<std::string> StrictInUnwanted(std::string_view object, std::span<const std::string> wanted) {
  return Rewriter(object, wanted, false).Run();
}

std::optional<std::string> WithoutLoneSurrogates(std::string_view object) {
  if (object.find("\\u") == std::string_view::npos) return std::nullopt;
  return Rewriter(object, {}, true).Run();
}

std::string FormOfNoObject(std::string_view row, bool front) {
  std::string_view rest = row;
  TakeSpaces(rest);
  if (rest.starts_with('['))
    return "begins with `[`: a JSON array, not one object a line; `jq -c '.[]' FILE` makes lines of it";
  if (rest.starts_with('\x1e')) return "begins with the byte 1E: `tr -d '\\036' < FILE` removes it";
  if (!rest.starts_with('{')) return "does not begin with `{`";
  std::string_view inside = rest.substr(1);
  TakeSpaces(inside);
  if (inside.starts_with('\''))
    return "names stand in single quotes, as Python prints them: write the rows with `json.dumps`";
  if (!TakeValue(rest)) {
    if (const std::string_view list = ListOfObjectsIn(row); !list.empty()) return ListAdvice(list);
    if (front) return {};
    return "the object does not end in this line; if those of the file take several lines, `jq -c . FILE` "
           "makes "
           "a line of each";
  }
  TakeSpaces(rest);
  const std::size_t at = row.size() - rest.size();
  if (rest.starts_with('{'))
    return StrCat("behind the object at byte ", at,
                  " another one stands; `jq -c . FILE` makes a line of each");
  if (rest.starts_with(','))
    return StrCat(
        "behind the object at byte ", at,
        " a comma stands, as in an array; `sed 's/,[[:space:]]*$//' FILE` removes it at the ends of "
        "lines");
  if (!rest.empty()) return StrCat("behind the object at byte ", at, " other text stands");
  return HasControlInString(row)
             ? "a TAB or another control character stands in a string, which JSON writes as \\t or \\u0009"
             : std::string();
}

std::string_view ListOfObjectsIn(std::string_view row) {
  TakeSpaces(row);
  if (!row.starts_with('{')) return {};
  while (!row.empty() && row.front() != '}') {
    row.remove_prefix(1);  // { or ,
    TakeSpaces(row);
    const std::string_view from = row;
    if (!row.starts_with('"') || !TakeValue(row)) return {};
    const std::string_view name = from.substr(1, from.size() - row.size() - 2);
    TakeSpaces(row);
    if (!row.starts_with(':')) return {};
    row.remove_prefix(1);
    TakeSpaces(row);
    if (row.starts_with('[')) {
      std::string_view inside = row.substr(1);
      TakeSpaces(inside);
      if (inside.starts_with('{')) return name;
    }
    if (!TakeValue(row)) return {};
    TakeSpaces(row);
  }
  return {};
}

}  // namespace pipeline
