// The parallel part of reading wiki40b: turns markers into lines, then continues as for rows. Rules:
// formats/examples.md.
#pragma once

#include <memory>
#include <utility>

#include "dag/records/transform.h"
#include "stages/sources/row_text.h"

namespace pipeline {

/// Takes articles of wiki40b, each with `sub` 0, and gives records of valid UTF-8.
class Wiki40bText : public Transform {
 public:
  Wiki40bText(bool titles, RowTextRules rules) : titles_(titles), text_(std::move(rules)) {}
  Result<std::unique_ptr<Worker>> NewWorker() const override;

 private:
  const bool titles_;
  const RowText text_;
};

}  // namespace pipeline
