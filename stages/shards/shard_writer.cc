#include "stages/shards/shard_writer.h"

#include <utility>

#include "base/str.h"
#include "formats/coding.h"

namespace pipeline {

Result<std::unique_ptr<ShardWriter>> ShardWriter::Create(Store& store, const Names& names,
                                                         const ShardRules& rules,
                                                         const ShardConditions& conditions, bool encoded) {
  std::unique_ptr<ShardWriter> writer(new ShardWriter);
  ASSIGN_OR_RETURN(writer->shard_, MeasuredWriter::Create(store, names.shard, conditions.shard));
  if (rules.form) writer->form_ = rules.form();
  writer->output_.sums.resize(rules.index_numbers());
  if (names.index.empty()) return writer;
  ASSIGN_OR_RETURN(writer->index_, MeasuredWriter::Create(store, names.index, conditions.index));
  if (encoded && rules.index) writer->encode_ = rules.index->encode;
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
    if (encode_)
      entries_.append(entry_);
    else
      RETURN_IF_ERROR(index_->Append(entry_));
  }
  return AppendRows(payload.substr(kept), 1);
}

Status ShardWriter::AppendRows(std::string_view rows, std::uint64_t count) {
  offset_ += rows.size();
  output_.records += count;
  if (!form_) return shard_->Append(rows);
  formed_.clear();
  form_->Append(rows, formed_);
  return shard_->Append(formed_);
}

Result<ShardOutput> ShardWriter::Commit(const std::stop_token& stop) {
  if (form_) {
    formed_.clear();
    form_->Finish(formed_);
    RETURN_IF_ERROR(shard_->Append(formed_));
  }
  if (encode_) RETURN_IF_ERROR(index_->Append(encode_(entries_)));
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
