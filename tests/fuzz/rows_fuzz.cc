// Rows with quotes, headers and sections: chunks do not matter, every partition can be started at, and the
// fields of a row hold all of it.
#include <string>

#include "formats/delimited.h"
#include "tests/fuzz/require.h"
#include "tests/support/cut_all.h"

namespace {

using namespace pipeline;

/// Cut again from its fields a row is the same row, but for quotes that were not needed.
void CheckFields(std::string_view row, bool quotes) {
  DelimitedRow first(',', quotes);
  if (!first.Split(row, row.size() + 1)) {
    Require(quotes && row.find('"') != std::string_view::npos);
    return;
  }
  std::string again;
  for (const std::string_view& field : first.fields()) {
    if (&field != &first.fields().front()) again += ',';
    if (quotes) again += '"';
    for (const char byte : field) again += quotes && byte == '"' ? "\"\"" : std::string(1, byte);
    if (quotes) again += '"';
  }
  if (!quotes) Require(again == row);
  DelimitedRow second(',', quotes);
  Require(second.Split(again, 2 * row.size() + 2) && second.fields() == first.fields());
  DelimitedRow some(',', quotes);
  Require(some.Split(row, 2) && some.size() == first.size() && some.fields().size() <= 2);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 4) return 0;
  LineRules rules;
  rules.documents = Documents::kLine;
  rules.on_long = OnLong::kQuarantine;
  rules.quoted_delimiter = data[0] & 1 ? ',' : '\0';
  rules.header = (data[0] & 2) != 0;
  rules.wrong_quotes_end_lines = (data[0] & 4) != 0;
  rules.space_is_blank = (data[0] & 8) != 0;
  rules.cr_may_end_lines = (data[0] & 16) != 0;
  rules.partition_bytes = 1u + data[1];
  rules.max_document_bytes = UINT64_MAX;
  rules.max_record_bytes = 4u + data[2] % 64;
  const std::string_view text(reinterpret_cast<const char*>(data) + 4, size - 4);
  std::vector<std::size_t> sections;
  if (data[3] > 0)
    for (std::size_t at = 0; at <= text.size(); at += data[3]) sections.push_back(at);

  const Cut whole = CutAll(
      text, rules, [&] { return size; }, {}, sections);
  Require(whole.SameAs(CutAll(
      text, rules, [] { return 1; }, {}, sections)));
  std::size_t step = 0;
  Require(whole.SameAs(CutAll(
      text, rules, [&] { return 1 + step++ % 7; }, {}, sections)));
  const auto limited = [&](std::size_t chunk) {
    return CutAll(
        text, rules, [chunk] { return chunk; }, {}, sections, size % 3);
  };
  const Cut beginnings = limited(1);
  Require(beginnings.SameAs(limited(7)) && beginnings.SameAs(limited(size)));
  Require(sections.empty() || beginnings.documents <= sections.size() * (size % 3));
  for (const Cut::Record& record : whole.records) CheckFields(record.bytes, rules.quoted_delimiter != '\0');
  if (!whole.error.empty() || !sections.empty()) return 0;

  for (std::size_t p = 0; p < whole.partitions.size() && p < 8; ++p) {
    const Cut::Partition& before = whole.partitions[p];
    const Cut part = CutAll(text, rules, [] { return 3; },
                            {before.raw_end, before.document_end, before.partition + 1, whole.ends});
    Require(part.documents == whole.documents && part.headers.empty());
    Require(part.records.size() <= whole.records.size() &&
            std::equal(part.records.rbegin(), part.records.rend(), whole.records.rbegin()));
  }
  return 0;
}
