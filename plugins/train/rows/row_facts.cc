#include "plugins/train/rows/row_facts.h"

#include <utility>

#include "base/str.h"

namespace pipeline {

namespace {

constexpr std::int64_t kMostRecords = 1'000'000'000'000;  // of a shard

Result<Json> ParseInfo(const Result<std::string>& text, const std::string& uri) {
  if (!text.ok()) return text.status();
  Result<Json> info = Json::Parse(*text);
  if (info.ok()) return info;
  return Status(Code::kDataLoss, StrCat(uri, ": is not JSON: ", info.status().message(), "; make it again"));
}

/// Adds up the rows of each split, which bert.json does not have.
Result<Json> SplitsOfPairs(const Json& manifest, const std::string& uri) {
  Json splits{Json::Object{}};
  for (const Json& shard : manifest["shards"].AsArray()) {
    const std::string split(shard["split"].AsString());
    const std::int64_t records = shard["records"].AsInt(-1);
    if (split.empty() || records < 0 || records > kMostRecords)
      return Status(Code::kDataLoss,
                    StrCat(uri, ": an entry of `shards` has no split or no number of records: ",
                           shard.Dump().substr(0, 200), "; make it again"));
    Json& rows = splits[split]["rows"];
    rows = rows.AsInt() + records;
  }
  if (splits.AsObject().empty())
    return Status(Code::kDataLoss, StrCat(uri, ": names no shards; make it again"));
  return splits;
}

}  // namespace

Result<RowFacts> ReadRowFacts(const std::string& place, const std::string& manifest, const ReadWhole& read) {
  RowFacts rows{.maker = kRowsMaker, .uri = StrCat(place, "/", kRowsInfo), .facts = {}};
  Result<std::string> text = read(rows.uri, kMostPacked);
  if (text.ok() || text.status().code() != Code::kNotFound) {
    ASSIGN_OR_RETURN(rows.facts, ParseInfo(text, rows.uri));
    return rows;
  }
  rows.maker = kPairsMaker;
  rows.uri = StrCat(place, "/", kPairsInfo);
  text = read(rows.uri, kMostPacked);
  if (!text.ok() && text.status().code() == Code::kNotFound)
    return Status(Code::kNotFound, StrCat(place, ": neither ", kRowsInfo, " of `", kRowsMaker, "` nor ",
                                          kPairsInfo, " of `", kPairsMaker, "` is there"));
  ASSIGN_OR_RETURN(const Json pairs, ParseInfo(text, rows.uri));
  text = read(manifest, kMostPacked);
  if (!text.ok() && text.status().code() == Code::kNotFound)
    return Status(Code::kDataLoss, StrCat(manifest, ": is not there, and only it has the number of rows of ",
                                          place, "; make them again"));
  ASSIGN_OR_RETURN(const Json parsed, ParseInfo(text, manifest));
  ASSIGN_OR_RETURN(rows.facts["splits"], SplitsOfPairs(parsed, manifest));
  rows.facts["seq_len"] = pairs["max_seq_length"].AsInt();
  rows.facts["tokenizer"] = pairs["tokenizer"];
  return rows;
}

}  // namespace pipeline
