#include "formats/partition_rows.h"

#include "base/result.h"
#include "base/str.h"
#include "formats/coding.h"

namespace pipeline {

namespace {

std::uint32_t BeginOf(const ColumnView& column, std::size_t row) {
  return row == 0 ? 0 : column.ends[row - 1];
}

void PutLengths(const ColumnView& column, std::size_t first, std::size_t last, std::string& raw) {
  for (std::size_t row = first; row < last; ++row) PutVarint(raw, column.ends[row] - BeginOf(column, row));
}

void EncodeHeads(std::span<const PartitionHead> heads, std::string& raw) {
  std::uint64_t before = 0;
  for (const PartitionHead& head : heads) PutVarint(raw, ZigZag(head.index - before)), before = head.index;
  for (const PartitionHead& head : heads) PutVarint(raw, head.sub);
  before = 0;
  for (const PartitionHead& head : heads)
    PutVarint(raw, ZigZag(head.document - before)), before = head.document;
  for (std::size_t row = 0; row < heads.size();) {
    const std::size_t begin = row;
    while (row < heads.size() && heads[row].key == heads[begin].key) ++row;
    PutVarint(raw, row - begin);
    PutU64(raw, heads[begin].key);
  }
}

void DecodeHeads(Decoder& in, std::vector<PartitionHead>& heads) {
  std::uint64_t before = 0;
  for (PartitionHead& head : heads) head.index = before += UnZigZag(in.Varint());
  for (PartitionHead& head : heads) head.sub = in.Varint32();
  before = 0;
  for (PartitionHead& head : heads) head.document = before += UnZigZag(in.Varint());
  std::uint64_t run = 0;
  std::uint64_t key = 0;
  for (PartitionHead& head : heads) {
    if (run == 0) {
      run = in.Varint();
      key = in.U64();
      if (run == 0) return in.Fail();
    }
    head.key = key;
    --run;
  }
  if (run != 0) in.Fail();
}

/// Turns lengths into ends; returns their sum, which may exceed the bytes of `in`.
std::uint64_t DecodeEnds(Decoder& in, std::size_t records, std::vector<std::uint32_t>& ends) {
  ends.resize(records);
  std::uint64_t end = 0;
  for (std::uint32_t& row_end : ends) {
    end += in.Varint32();
    row_end = static_cast<std::uint32_t>(end);
  }
  return end;
}

void DecodeColumn(PartitionColumnType type, Decoder& in, std::size_t records, PartitionRows::Column& column) {
  switch (type) {
    case PartitionColumnType::kUtf8: {
      const std::uint64_t size = DecodeEnds(in, records, column.ends);
      column.bytes = in.Bytes(size);
      return;
    }
    case PartitionColumnType::kU32List: {
      const std::uint64_t size = DecodeEnds(in, records, column.ends);
      const std::string_view bytes = in.Bytes(size * sizeof(std::uint32_t));
      Decoder numbers(bytes);
      column.numbers.resize(bytes.size() / sizeof(std::uint32_t));
      for (std::uint32_t& number : column.numbers) number = numbers.U32();
      return;
    }
    case PartitionColumnType::kU8: {
      const std::string_view bytes = in.Bytes(records);
      column.values.assign(bytes.begin(), bytes.end());
      return;
    }
  }
}

}  // namespace

void EncodeRows(const PartitionColumns& columns, const RowsView& rows, std::size_t first, std::size_t last,
                std::string& raw) {
  EncodeHeads(rows.heads.subspan(first, last - first), raw);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const ColumnView& column = rows.columns[i];
    if (columns[i].type == PartitionColumnType::kU8) {
      for (const std::uint8_t value : column.values.subspan(first, last - first))
        raw.push_back(static_cast<char>(value));
      continue;
    }
    PutLengths(column, first, last, raw);
    const std::size_t begin = BeginOf(column, first);
    const std::size_t size = column.ends[last - 1] - begin;
    if (columns[i].type == PartitionColumnType::kUtf8)
      raw.append(column.bytes.substr(begin, size));
    else
      for (const std::uint32_t number : column.numbers.subspan(begin, size)) PutU32(raw, number);
  }
}

Status DecodeRows(const PartitionColumns& columns, std::string_view raw, std::uint32_t records,
                  PartitionRows& rows) {
  // Each row has at least a byte in each of index, sub and document, which bounds the allocation.
  constexpr std::size_t kMinRowBytes = 3;
  if (records > raw.size() / kMinRowBytes)
    return Status(Code::kDataLoss, StrCat("cannot hold ", records, " records in ", raw.size(), " bytes"));
  rows.heads.assign(records, {});
  rows.columns.resize(columns.size());
  Decoder in(raw);
  DecodeHeads(in, rows.heads);
  for (std::size_t i = 0; i < columns.size() && in.ok(); ++i)
    DecodeColumn(columns[i].type, in, records, rows.columns[i]);
  if (!in.ok())
    return Status(Code::kDataLoss, StrCat("its rows break off at byte ", in.offset(), " of ", raw.size()));
  if (in.left() > 0) return Status(Code::kDataLoss, StrCat(in.left(), " bytes are left after its rows"));
  return {};
}

std::size_t MaxRowBytes(const PartitionColumns& columns, const RowsView& rows, std::size_t row) {
  constexpr std::size_t kVarint32 = 5;
  std::size_t bytes = 10 + kVarint32 + 10 + kVarint32 + 8;  // index, sub, document, a run of one key
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const ColumnView& column = rows.columns[i];
    switch (columns[i].type) {
      case PartitionColumnType::kU8: bytes += 1; break;
      case PartitionColumnType::kUtf8: bytes += kVarint32 + column.ends[row] - BeginOf(column, row); break;
      case PartitionColumnType::kU32List:
        bytes += kVarint32 + std::size_t{4} * (column.ends[row] - BeginOf(column, row));
        break;
    }
  }
  return bytes;
}

RowsDigest::RowsDigest(PartitionColumns columns) : columns_(std::move(columns)), hashers_(columns_.size()) {}

void RowsDigest::Update(const RowsView& rows) {
  records_ += rows.heads.size();
  // The numbers are packed before they are hashed, because a copy of a number costs less than a call of the
  // hasher.
  const auto update = [this](Hasher& hasher, const auto& numbers, auto&& number_of) {
    scratch_.clear();
    for (const auto& number : numbers) PutFixed(scratch_, number_of(number));
    hasher.Update(scratch_);
  };
  const auto itself = [](std::uint32_t number) { return number; };
  update(index_, rows.heads, [](const PartitionHead& head) { return head.index; });
  update(sub_, rows.heads, [](const PartitionHead& head) { return head.sub; });
  update(document_, rows.heads, [](const PartitionHead& head) { return head.document; });
  update(key_, rows.heads, [](const PartitionHead& head) { return head.key; });
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    const ColumnView& column = rows.columns[i];
    if (columns_[i].type == PartitionColumnType::kU8) {
      update(hashers_[i].content, column.values, [](std::uint8_t value) { return value; });
      continue;
    }
    std::uint32_t before = 0;
    update(hashers_[i].lengths, column.ends, [&before](std::uint32_t end) {
      const std::uint32_t length = end - before;
      before = end;
      return length;
    });
    if (columns_[i].type == PartitionColumnType::kUtf8)
      hashers_[i].content.Update(column.bytes);
    else
      update(hashers_[i].content, column.numbers, itself);
  }
}

Digest RowsDigest::Finish() const {
  Hasher all;
  const auto add = [&all](const Hasher& hasher) {
    const Digest digest = hasher.Finish();
    all.UpdateU64(digest.high).UpdateU64(digest.low);
  };
  all.UpdateU64(records_);
  for (const Hasher* hasher : {&index_, &sub_, &document_, &key_}) add(*hasher);
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    all.UpdateU64(static_cast<std::uint64_t>(columns_[i].type)).UpdateField(columns_[i].name);
    if (columns_[i].type != PartitionColumnType::kU8) add(hashers_[i].lengths);
    add(hashers_[i].content);
  }
  return all.Finish();
}

}  // namespace pipeline
