// The parallel part of reading rows: extracts text and label from JSON and divides text into lines. Rules:
// formats/rows.md.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dag/records/source.h"
#include "dag/records/transform.h"
#include "stages/lines/utf8_repair.h"
#include "stages/sources/row_columns.h"

namespace pipeline {

struct RowTextRules : TextRules {
  bool json = false;              // column `text` holds JSON rows, not yet their text
  bool mends_surrogates = false;  // a lone surrogate in JSON becomes U+FFFD, if `invalid` lets it
  bool finds_iso2022 = false;     // as Utf8Repair does
  InvalidUtf8 invalid = InvalidUtf8::kReplace;
};

/// The reasons for all rows; for JSON also those in formats/rows.md.
std::vector<Reason> RowTextReasons();

/// Advice about bad JSON rows. `rows`: some of them, one per line, the last one perhaps in part; if a member
/// is missing, the advice lists the members that they have.
std::string MembersAdvice(std::string_view rows, const RowTextRules& rules);

/// The reason for rows without the column of text `name`: "absent_title".
std::string AbsentColumn(std::string_view name);
/// The columns of `rules`, each of which some row must have. `column` and `row`: the nouns for messages;
/// `unseen` and `advice`: as in NeededColumn.
std::vector<NeededColumn> NeededColumns(const TextRules& rules, std::string_view column, std::string_view row,
                                        std::span<const std::string_view> unseen,
                                        std::string (*advice)(std::string_view sample,
                                                              const std::string& name));
/// Advice about a column that no row has. `rows`: some of them, one per line.
std::string AbsentAdvice(std::string_view rows, const std::string& column);

/// Takes rows, each with `sub` 0, and gives records of valid UTF-8.
class RowText : public Transform {
 public:
  explicit RowText(RowTextRules rules)
      : rules_(std::move(rules)), repair_(rules_.invalid, rules_.finds_iso2022) {}
  Result<std::unique_ptr<Worker>> NewWorker() const override;

 private:
  const RowTextRules rules_;
  const Utf8Repair repair_;
};

}  // namespace pipeline
