#include "text/regular_expression.h"

#include <unicode/uregex.h>
#include <unicode/utext.h>

#include <utility>

#include "base/str.h"

namespace pipeline {

namespace {

// In ICU's units of ten thousand steps: some hundredths of a second for one match. Ordinary matches take a
// few steps for each character.
constexpr std::int32_t kMostSteps = 100;

Status Refused(UErrorCode error) {
  const bool endless = error == U_REGEX_TIME_OUT || error == U_REGEX_STACK_OVERFLOW;
  return Status(Code::kInvalidArgument,
                StrCat(endless ? "it tries too many ways on a text; write it without nested repetitions ("
                               : "it is not valid (",
                       u_errorName(error), ")"));
}

}  // namespace

struct RegularExpression::Compiled {
  URegularExpression* expression = nullptr;
  UText text = UTEXT_INITIALIZER;

  Compiled() = default;
  Compiled(const Compiled&) = delete;
  Compiled& operator=(const Compiled&) = delete;
  ~Compiled() {
    uregex_close(expression);
    utext_close(&text);
  }
};

RegularExpression::RegularExpression(std::unique_ptr<Compiled> compiled) : compiled_(std::move(compiled)) {}
RegularExpression::RegularExpression(RegularExpression&&) noexcept = default;
RegularExpression::~RegularExpression() = default;

RegularExpression::RegularExpression(const RegularExpression& other)
    : compiled_(std::make_unique<Compiled>()) {
  UErrorCode error = U_ZERO_ERROR;
  compiled_->expression = uregex_clone(other.compiled_->expression, &error);
  uregex_setTimeLimit(compiled_->expression, kMostSteps, &error);  // ICU does not copy it
}

Result<RegularExpression> RegularExpression::Make(const std::string& pattern) {
  auto compiled = std::make_unique<Compiled>();
  UErrorCode error = U_ZERO_ERROR;
  UParseError place{};
  UText text = UTEXT_INITIALIZER;
  utext_openUTF8(&text, pattern.data(), static_cast<std::int64_t>(pattern.size()), &error);
  compiled->expression = uregex_openUText(&text, 0, &place, &error);
  utext_close(&text);
  if (U_FAILURE(error) != 0)
    return Status(Code::kInvalidArgument,
                  StrCat("'", pattern, "': at character ", place.offset, ": ", u_errorName(error)));
  uregex_setTimeLimit(compiled->expression, kMostSteps, &error);
  return RegularExpression(std::move(compiled));
}

Status RegularExpression::FindBorders(std::string_view text, std::vector<std::uint32_t>& borders) {
  UErrorCode error = U_ZERO_ERROR;
  // A copy that failed has no expression; ICU then says so here.
  utext_openUTF8(&compiled_->text, text.data(), static_cast<std::int64_t>(text.size()), &error);
  uregex_setUText(compiled_->expression, &compiled_->text, &error);
  while (uregex_findNext(compiled_->expression, &error) != 0) {
    const std::int64_t begin = uregex_start64(compiled_->expression, 0, &error);
    const std::int64_t end = uregex_end64(compiled_->expression, 0, &error);
    if (begin == end) continue;
    borders.push_back(static_cast<std::uint32_t>(begin));
    borders.push_back(static_cast<std::uint32_t>(end));
  }
  return U_FAILURE(error) != 0 ? Refused(error) : Status();
}

}  // namespace pipeline
