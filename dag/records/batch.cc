#include "dag/records/batch.h"

namespace pipeline {

namespace {

template <class Column>
void KeepRows(Column& column, std::span<const std::uint32_t> rows) {
  if (column.empty() || rows.size() == column.size()) return;
  Column kept;
  for (const std::uint32_t row : rows) kept.Append(column[row]);
  column.Swap(kept);
}

template <class T>
void KeepRows(std::vector<T>& values, std::span<const std::uint32_t> rows) {
  if (values.empty()) return;
  std::size_t kept = 0;
  for (const std::uint32_t row : rows) values[kept++] = values[row];
  values.resize(kept);
}

}  // namespace

void Batch::Keep(std::span<const std::uint32_t> rows) {
  KeepRows(text, rows);
  KeepBesideText(rows);
}

void Batch::KeepBesideText(std::span<const std::uint32_t> rows) {
  KeepRows(fields, rows);
  KeepRows(cuts, rows);
  KeepRows(ids, rows);
  KeepRows(id_ends, rows);
  KeepRows(label, rows);
  KeepRows(split, rows);
  KeepRows(heads, rows);
}

void Batch::Repeat(std::span<const std::uint32_t> rows) {
  bool same = rows.size() == size();
  for (std::size_t row = 0; same && row < rows.size(); ++row) same = rows[row] == row;
  if (same) return;
  Batch made;
  for (const std::uint32_t row : rows) made.AppendRow(*this, row);
  heads.swap(made.heads), split.swap(made.split);
  text.Swap(made.text), fields.Swap(made.fields), cuts.Swap(made.cuts), ids.Swap(made.ids),
      id_ends.Swap(made.id_ends);
  label.Swap(made.label);
}

void Batch::AppendRow(const Batch& from, std::size_t row) {
  heads.push_back(from.heads[row]);
  if (!from.text.empty()) text.Append(from.text[row]);
  if (!from.fields.empty()) fields.Append(from.fields[row]);
  if (!from.cuts.empty()) cuts.Append(from.cuts[row]);
  if (!from.ids.empty()) ids.Append(from.ids[row]);
  if (!from.id_ends.empty()) id_ends.Append(from.id_ends[row]);
  if (!from.label.empty()) label.Append(from.label[row]);
  if (!from.split.empty()) split.push_back(from.split[row]);
}

}  // namespace pipeline
