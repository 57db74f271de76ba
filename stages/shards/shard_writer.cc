#include "stages/shards/shard_writer.h"

#include <utility>

#include "base/str.h"
#include "formats/coding.h"

namespace pipeline {

Result<std::unique_ptr<FormedWriter>> FormedWriter::Create(Store& store, const std::string& name,
                                                           const Condition& condition,
                                                           const NewShardForm& form) {
  ASSIGN_OR_RETURN(std::unique_ptr<MeasuredWriter> object, MeasuredWriter::Create(store, name, condition));
  return std::unique_ptr<FormedWriter>(new FormedWriter(std::move(object), form ? form() : nullptr));
}

Status FormedWriter::Append(std::string_view row) {
  if (!form_) return object_->Append(row);
  formed_.clear();
  form_->Append(row, formed_);
  return object_->Append(formed_);
}

Result<StoredObject> FormedWriter::Commit(const std::stop_token& stop) {
  if (form_)
    RETURN_IF_ERROR(form_->Finish([this](std::string_view bytes) { return object_->Append(bytes); }));
  return object_->Commit(stop);
}

Result<std::unique_ptr<ShardWriter>> ShardWriter::Create(Store& store, const Names& names,
                                                         const ShardRules& rules,
                                                         const ShardConditions& conditions, bool formed) {
  std::unique_ptr<ShardWriter> writer(new ShardWriter);
  ASSIGN_OR_RETURN(writer->shard_, FormedWriter::Create(store, names.shard, conditions.shard, rules.form));
  writer->output_.sums.resize(rules.index_numbers());
  if (names.index.empty()) return writer;
  ASSIGN_OR_RETURN(writer->index_,
                   FormedWriter::Create(store, names.index, conditions.index,
                                        formed && rules.index ? rules.index->form : NewShardForm()));
  return writer;
}

Status ShardWriter::Append(std::string_view payload) {
  Decoder front(payload);
  for (std::uint64_t& sum : output_.sums) sum += front.U32();
  if (!front.ok()) return Status(Code::kInternal, "shards: a row lacks the numbers for its index");
  const std::size_t kept = front.offset();
  if (index_) {
    entry_.clear();
    PutU64(entry_, offset_);
    entry_.append(payload.substr(0, kept));
    RETURN_IF_ERROR(index_->Append(entry_));
  }
  return AppendRows(payload.substr(kept), 1);
}

Status ShardWriter::AppendRows(std::string_view rows, std::uint64_t count) {
  offset_ += rows.size();
  output_.records += count;
  return shard_->Append(rows);
}

Result<ShardOutput> ShardWriter::Commit(const std::stop_token& stop) {
  if (index_) {
    ASSIGN_OR_RETURN(StoredObject index, index_->Commit(stop));
    output_.index = std::move(index);
  }
  ASSIGN_OR_RETURN(output_.object, shard_->Commit(stop));
  return std::move(output_);
}

Result<std::vector<std::uint64_t>> SumIndex(std::string_view index, std::size_t numbers,
                                            std::uint64_t records) {
  if (index.size() != records * IndexEntryBytes(numbers))
    return Status(Code::kDataLoss,
                  StrCat("has ", index.size(), " bytes, not those of the entries of ", records, " rows"));
  std::vector<std::uint64_t> sums(numbers);
  Decoder entries(index);
  while (entries.left() > 0) {
    entries.U64();
    for (std::uint64_t& sum : sums) sum += entries.U32();
  }
  return sums;
}

}  // namespace pipeline
