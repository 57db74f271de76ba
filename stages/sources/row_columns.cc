#include "stages/sources/row_columns.h"

#include <algorithm>

#include "base/str.h"
#include "base/words.h"
#include "text/encoding_guess.h"
#include "text/unicode.h"
#include "text/utf8.h"
#include "text/white_space.h"

namespace pipeline {

namespace {

constexpr std::size_t kShownColumns = 20;

/// Says that names of columns are not UTF-8 and which encoding they fit. Empty: they are UTF-8.
std::string NotUtf8(const std::vector<std::string_view>& names) {
  std::string damaged;
  for (const std::string_view name : names)
    if (!IsCleanUtf8(name)) damaged += StrCat(damaged.empty() ? "" : "\n", name);
  if (damaged.empty()) return damaged;
  const std::string fitting = FittingNames(damaged);
  return StrCat("is not UTF-8",
                fitting.empty()
                    ? std::string(": set encoding if it is another one, or convert the text to UTF-8")
                    : StrCat(" and fits ", fitting));
}

std::string Composed(std::string_view name) {
  std::string composed;
  return AppendNormalForm(NormalForm::kNfc, name, composed).ok() ? composed : std::string(name);
}

/// Appends the non-blank lines of `value`, joined by spaces, and returns how many were blank.
std::uint64_t AppendOnOneLine(std::string_view value, bool space_is_blank, std::string& out) {
  std::uint64_t blank = 0;
  bool first = true;
  while (!value.empty()) {
    const std::string_view line = TakeLine(value);
    if (line.empty() || (space_is_blank && IsBlankLine(line))) {
      ++blank;
      continue;
    }
    if (!first) out.push_back(' ');
    out.append(line);
    first = false;
  }
  return blank;
}

}  // namespace

std::string_view TakeLine(std::string_view& text) {
  const std::size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  if (end != std::string_view::npos && line.ends_with('\r')) line.remove_suffix(1);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return line;
}

std::optional<std::size_t> ColumnPosition(std::string_view text) {
  const std::size_t position = ParseNumber<std::size_t>(text).value_or(0);
  if (position < 1 || position > kMostColumns) return std::nullopt;
  return position - 1;
}

std::uint64_t AppendPart(const TextRules& rules, std::string_view part, bool& first, std::string& out) {
  if (rules.may_lack && !rules.fields && part.empty()) return 0;
  if (!std::exchange(first, false)) out.push_back('\n');
  if (rules.fields) return AppendOnOneLine(part, rules.space_is_blank, out);
  out.append(part);
  return 0;
}

std::string ColumnsAdvice(const std::string& column, const std::vector<std::string_view>& names) {
  if (names.empty()) return "they have none";
  std::string there;
  for (std::size_t i = 0; i < std::min(names.size(), kShownColumns); ++i)
    there += StrCat(i == 0 ? "" : ", ", Printable(names[i]));
  for (const std::string_view name : names)
    if (Composed(name) == Composed(column))
      return StrCat("they have '", Printable(name),
                    "' in decomposed letters (NFD), as macOS writes them: name it in these letters");
  const std::string_view nearest = NearestWord(column, names);
  return StrCat("they have ", there, names.size() > kShownColumns ? ", ..." : "",
                nearest.empty() ? std::string() : StrCat("; did you mean '", Printable(nearest), "'?"));
}

std::string QuotesAdvice(std::string_view rows, std::size_t max_record_bytes) {
  if (rows.find("\\\"") != std::string_view::npos)
    return "\\\" stands in them, where csv has \"\" for a quote in a field: write it so";
  const std::string_view first = rows.substr(0, rows.find('\n'));
  if (std::count(first.begin(), first.end(), '"') % 2 != 0)
    return StrCat("a quote opens a field, and none closes it within max_record_bytes (",
                  HumanBytes(max_record_bytes), "): mend it, or set quoting: none if quotes mean nothing");
  return "a quote stands where none may: mend it, or set quoting: none if quotes mean nothing";
}

std::string WidthAdvice(const ColumnRules& rules) {
  const std::string_view delimiter = rules.delimiter == ',' ? "comma" : "TAB";
  return StrCat(rules.header ? "they have more or fewer fields than the header" : "they have too few fields",
                ": a ", delimiter,
                rules.quotes ? " in a field needs quotes around the field" : " in a field makes two of it",
                ", and one behind the last field begins another");
}

RowColumns::RowColumns(const ColumnRules& rules) : rules_(rules), row_(rules.delimiter, rules.quotes) {
  if (rules_.header) return;
  const auto take = [this](const std::string& column) {
    const std::size_t index = ColumnPosition(column).value_or(0);
    wanted_ = std::max(wanted_, index + 1);
    return index;
  };
  for (const std::string& column : rules_.text) text_.push_back(take(column));
  if (!rules_.label.empty()) label_ = take(rules_.label);
}

Status RowColumns::TakeHeader(std::string_view row) {
  if (!row_.Split(row, kMostColumns))
    return Status(Code::kInvalidArgument,
                  "a quote stands in the header where none may; set quoting: none if quotes mean nothing");
  if (row_.size() > kMostColumns)
    return Status(Code::kInvalidArgument,
                  StrCat("the header has ", row_.size(), " columns; at most ", kMostColumns, " are read"));
  width_ = row_.size();
  wanted_ = 0;
  text_.assign(rules_.text.size(), 0);
  for (std::size_t i = 0; i < text_.size(); ++i)
    RETURN_IF_ERROR(Find(rules_.text[i], row_.fields(), text_[i]));
  if (!rules_.label.empty()) RETURN_IF_ERROR(Find(rules_.label, row_.fields(), label_));
  return {};
}

Status RowColumns::Find(const std::string& column, const std::vector<std::string_view>& names,
                        std::size_t& index) {
  const auto next = [&](auto from, bool composed) {
    return std::find_if(from, names.end(), [&](std::string_view name) {
      return composed ? Composed(name) == Composed(column) : name == column;
    });
  };
  // A table from macOS may have decomposed letters, which look the same.
  const bool composed = next(names.begin(), false) == names.end();
  const auto found = next(names.begin(), composed);
  if (found != names.end() && next(found + 1, composed) != names.end())
    return Status(Code::kInvalidArgument, StrCat("two columns of the header are named '", column,
                                                 "'; name the one you want by its position, from 1 on"));
  const std::optional<std::size_t> position = ColumnPosition(column);
  if (found == names.end() && (!position || *position >= names.size())) {
    if (const std::string why = NotUtf8(names); !why.empty())
      return Status(Code::kInvalidArgument, StrCat("no column '", column, "' is in the header, which ", why));
    std::string there;
    for (std::size_t i = 0; i < std::min(names.size(), kShownColumns); ++i)
      there += StrCat(i == 0 ? "" : ", ", Printable(names[i]));
    const std::string_view nearest = NearestWord(column, names);
    return Status(
        Code::kInvalidArgument,
        StrCat("no column '", column, "' is in the header, which has ", there,
               names.size() > kShownColumns ? ", ..." : "",
               nearest.empty() ? std::string() : StrCat("; did you mean '", Printable(nearest), "'?"),
               names.size() == 1 ? "; is `format` right?" : ""));
  }
  index = found != names.end() ? static_cast<std::size_t>(found - names.begin()) : *position;
  wanted_ = std::max(wanted_, index + 1);
  return {};
}

Result<std::string_view> RowColumns::Take(std::string_view row, BytesColumn& text, BytesColumn& label) {
  std::string_view reason;
  std::string why;
  if (!row_.Split(row, wanted_)) {
    reason = "dropped_quotes";
    if (rules_.fail) why = "a quote stands where none may; set quoting: none if quotes mean nothing";
  } else if (width_ > 0 ? row_.size() != width_ : row_.size() < wanted_) {
    reason = "dropped_columns";
    if (rules_.fail)
      why = width_ > 0 ? StrCat("has ", row_.size(), " fields where the header has ", width_)
                       : StrCat("has ", row_.size(), " fields, and column ", wanted_, " is wanted");
  }
  if (!why.empty()) return Status(Code::kDataLoss, StrCat(why, "; mend it, or set on_bad_row: quarantine"));
  if (!reason.empty()) return reason;
  std::string& out = text.open_row();
  bool first = true;
  for (const std::size_t column : text_)
    blank_lines_ += AppendPart(rules_, row_.fields()[column], first, out);
  text.CloseRow();
  if (!rules_.label.empty()) label.Append(row_.fields()[label_]);
  return reason;
}

}  // namespace pipeline
