// The part of reading rows that needs no order: JSON to text and label, text to lines. Rules:
// formats/rows.md.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "records/transform.h"
#include "stages/utf8_repair.h"

namespace pipeline {

struct RowTextRules {
  bool json = false;              // column `text` holds rows of JSON Lines, not yet their text
  bool fail = false;              // on a bad row, instead of setting it aside
  std::vector<std::string> text;  // members of the objects
  std::string label;              // empty where there is none
  bool fields = false;            // column `text` is a line for each column, which becomes a field
  InvalidUtf8 invalid = InvalidUtf8::kReplace;
};

/// What it counts of any rows; of JSON, those in formats/rows.md as well.
std::vector<Reason> RowTextReasons();

/// How to mend rows of JSON at fault, of which `rows` are some, one a line: where a member is missing, the
/// members that they have.
std::string MembersAdvice(std::string_view rows, const RowTextRules& rules);

/// Takes rows, each with `sub` 0, and gives records of clean UTF-8.
class RowText : public Transform {
 public:
  explicit RowText(RowTextRules rules) : rules_(std::move(rules)), repair_(rules_.invalid) {}
  Result<std::unique_ptr<Worker>> NewWorker() const override;

 private:
  const RowTextRules rules_;
  const Utf8Repair repair_;
};

}  // namespace pipeline
