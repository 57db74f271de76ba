#include "stages/export/tfdata/tfdata_info.h"

#include "base/json_fields.h"
#include "base/str.h"

namespace pipeline {

template <class Fields, Of<TfdataDirectory> T>
void ListFields(Fields& fields, T& directory) {
  fields.Required("directory", directory.name).Required("run_id", directory.run_id);
  fields.Required("ids", directory.ids).Required("documents", directory.documents);
}

namespace {

constexpr std::string_view kVersionKey = "pipe_tfdata";
constexpr std::uint32_t kVersion = 1;

}  // namespace

std::uint64_t TfdataSplit::ids() const {
  std::uint64_t sum = 0;
  for (const TfdataDirectory& directory : directories) sum += directory.ids;
  return sum;
}

std::string TfdataInfoJson(const TfdataInfo& info) {
  Json json;
  json[kVersionKey] = kVersion;
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
  if (status.ok() && version != kVersion)
    return Status(Code::kFailedPrecondition, StrCat(kVersionKey, ": ", version, " where this program reads ",
                                                    kVersion, "; use the program that wrote it"));
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
