#include "stages/export/tfdata/tfdata.h"

#include <array>
#include <cstring>

#include "base/crc32c.h"
#include "base/json_fields.h"
#include "base/str.h"
#include "formats/coding.h"
#include "formats/proto_message.h"
#include "formats/tfrecord.h"

namespace pipeline {

namespace {

using namespace std::string_view_literals;

constexpr std::string_view kSnapshotPath = "/00000000.shard/00000000.snapshot";
// TensorProto{dtype: DT_INT32, tensor_shape: {}, tensor_content: 4 bytes}, without these 4 bytes.
constexpr std::string_view kElementFront = "\x08\x03\x12\x00\x22\x04"sv;
constexpr std::size_t kElementRecord = 10;

/// Elements differ in four bytes alone, and a CRC is linear: the CRC of an element is that of id 0, changed
/// by a value for each byte of the id.
struct ElementTable {
  std::array<char, kTfdataElementBytes> zero{};  // the framed element of id 0
  std::uint32_t crc_of_zero = 0;
  std::array<std::array<std::uint32_t, 256>, 4> adds{};  // by place and value of the byte

  ElementTable() {
    std::string record(kElementFront);
    record.append(4, '\0');
    std::string framed;
    AppendTfRecord(framed, record);
    framed.copy(zero.data(), zero.size());
    crc_of_zero = Crc32c(record);
    for (std::size_t place = 0; place < 4; ++place)
      for (std::size_t value = 0; value < 256; ++value) {
        record[kElementFront.size() + place] = static_cast<char>(value);
        adds[place][value] = Crc32c(record) ^ crc_of_zero;
        record[kElementFront.size() + place] = '\0';
      }
  }
};

void PutU32At(char* at, std::uint32_t number) {
  for (int i = 0; i < 4; ++i) at[i] = static_cast<char>(number >> (8 * i));
}

template <std::size_t kWidth>
void AppendElements(std::string& out, std::string_view packed, const ElementTable& table) {
  constexpr std::size_t kIdAt = 12 + kElementFront.size(), kCrcAt = 12 + kElementRecord;
  const std::size_t ids = packed.size() / kWidth;
  const std::size_t begin = out.size();
  out.resize(begin + ids * kTfdataElementBytes);
  char* at = out.data() + begin;
  for (std::size_t i = 0; i < ids; ++i, at += kTfdataElementBytes) {
    std::uint32_t id = 0;
    std::uint32_t crc = table.crc_of_zero;
    for (std::size_t place = 0; place < kWidth; ++place) {
      const auto byte = static_cast<unsigned char>(packed[i * kWidth + place]);
      id |= std::uint32_t{byte} << (8 * place);
      crc ^= table.adds[place][byte];
    }
    std::memcpy(at, table.zero.data(), kTfdataElementBytes);
    PutU32At(at + kIdAt, id);
    PutU32At(at + kCrcAt, MaskCrc32c(crc));
  }
}

Status Bad(std::string why) { return Status(Code::kDataLoss, std::move(why)); }

}  // namespace

std::string TfdataDirectoryName(std::string_view name, std::uint32_t number, std::uint32_t count) {
  return StrCat(name, "-", ZeroPadded(number, 5), "-of-", ZeroPadded(count, 5));
}

std::string TfdataRunId(std::string_view directory, const Digest& tokenizer) {
  return std::to_string(Hash64(StrCat(directory, " ", tokenizer.ToHex())));
}

std::string TfdataSnapshotName(std::string_view directory, std::string_view run_id) {
  return StrCat(directory, "/", run_id, kSnapshotPath);
}

std::string_view TfdataDirectoryOf(std::string_view snapshot) {
  const std::size_t slash = snapshot.find('/');
  return snapshot.ends_with(kSnapshotPath) && slash != std::string_view::npos ? snapshot.substr(0, slash)
                                                                              : std::string_view();
}

void PackIds(std::string& out, std::span<const std::uint32_t> ids, std::size_t width) {
  for (const std::uint32_t id : ids)
    for (std::size_t place = 0; place < width; ++place) out.push_back(static_cast<char>(id >> (8 * place)));
}

void AppendTfdataElements(std::string& out, std::string_view packed, std::size_t width) {
  static const ElementTable table;
  if (width == 2)
    AppendElements<2>(out, packed, table);
  else
    AppendElements<4>(out, packed, table);
}

Result<std::uint32_t> ParseTfdataElement(std::string_view record) {
  if (record.size() != kElementRecord || !record.starts_with(kElementFront))
    return Bad("not an element of a scalar int32");
  const std::uint32_t id = Decoder(record.substr(kElementFront.size())).U32();
  if (id > INT32_MAX) return Bad("a negative id");
  return id;
}

std::string TfdataSpec() { return std::string("\x8a\x02\x04\x12\x00\x18\x03"sv); }

std::string TfdataMetadataBytes(const TfdataMetadata& metadata) {
  std::string out = "\x12";  // run_id
  PutVarint(out, metadata.run_id.size());
  out += metadata.run_id;
  out += "\x20\x02"sv;      // version: 2; creation_timestamp, 0, is left out
  out += "\x2a\x01\x03"sv;  // dtype: [DT_INT32]
  if (metadata.elements > 0) {
    out += '\x30';  // num_elements
    PutVarint(out, metadata.elements);
  }
  out += "\xc0\x3e\x01"sv;  // finalized
  return out;
}

Result<TfdataMetadata> ParseTfdataMetadata(std::string_view bytes) {
  ASSIGN_OR_RETURN(const ProtoMessage message, ProtoMessage::Parse(bytes));
  TfdataMetadata metadata;
  metadata.run_id = std::string(message.Bytes(2).value_or(""));
  metadata.elements = message.Varint(6).value_or(0);
  if (metadata.run_id.empty()) return Bad("no run_id");
  if (const std::uint64_t version = message.Varint(4).value_or(0); version != 2)
    return Bad(StrCat("version ", version, " where readers know 2"));
  if (message.Bytes(5).value_or("") != std::string_view("\x03"))
    return Bad("its elements are not one component of int32");
  if (message.Varint(1000).value_or(0) != 1) return Bad("not finalized");
  return metadata;
}

template <class Fields, Of<TfdataDirectory> T>
void ListFields(Fields& fields, T& directory) {
  fields.Required("directory", directory.name).Required("run_id", directory.run_id);
  fields.Required("ids", directory.ids).Required("documents", directory.documents);
}

namespace {

constexpr std::string_view kVersionKey = "pipe_tfdata";

}  // namespace

std::uint64_t TfdataSplit::ids() const {
  std::uint64_t sum = 0;
  for (const TfdataDirectory& directory : directories) sum += directory.ids;
  return sum;
}

std::string TfdataInfoJson(const TfdataInfo& info) {
  Json json;
  json[kVersionKey] = kTfdataVersion;
  json["eos"] = info.eos;
  json["tokenizer"] = ToJson(info.tokenizer);
  json["splits"] = Json::Object{};
  for (const TfdataSplit& split : info.splits) {
    Json& made = json["splits"][split.name];
    made["ids"] = split.ids();
    made["directories"] = JsonWriter::ValueOf(split.directories);
  }
  return json.DumpPretty();
}

Result<TfdataInfo> ParseTfdataInfo(std::string_view text) {
  Result<Json> json = Json::Parse(text);
  if (!json.ok()) return Status(Code::kDataLoss, std::string(json.status().message()));
  Status status;
  JsonFields fields(*json, "", status);
  const std::uint64_t version = fields.Number(kVersionKey);
  if (status.ok() && version != kTfdataVersion)
    return Status(Code::kFailedPrecondition, StrCat(kVersionKey, ": ", version, " where this program reads ",
                                                    kTfdataVersion, "; use the program that wrote it"));
  TfdataInfo info;
  info.eos = fields.Text("eos");
  const Json& tokenizer = fields.Object("tokenizer");
  for (const auto& [name, value] : fields.Object("splits").AsObject()) {
    TfdataSplit& split = info.splits.emplace_back();
    split.name = name;
    const std::string where = StrCat("splits.", name, ".");
    JsonFields parts(value, where, status);
    const std::uint64_t ids = parts.Number("ids");
    parts.Required("directories", split.directories);
    if (status.ok() && ids != split.ids())
      status = Status(Code::kDataLoss, StrCat(where, "ids: ", ids, " is not the sum over its directories"));
  }
  if (!status.ok()) return status;
  ASSIGN_OR_RETURN(info.tokenizer, TokenizerFactsFromJson(tokenizer));
  return info;
}

}  // namespace pipeline
