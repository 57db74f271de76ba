#include "plugins/train/hosts/attempt_record.h"

#include <string>
#include <utility>

#include "base/json.h"
#include "base/str.h"
#include "base/terminal_text.h"
#include "plugins/train/hosts/host_card.h"

namespace pipeline {

namespace {

constexpr std::size_t kLongestRecordText = 1000;
constexpr int kDigits = 5;

std::string NumberName(std::int64_t number, std::string_view end) {
  return StrCat("attempts/", ZeroPadded(static_cast<std::uint64_t>(number), kDigits), end);
}

}  // namespace

std::string AttemptName(std::int64_t number) { return NumberName(number, ".json"); }
std::string AttemptEndName(std::int64_t number) { return NumberName(number, ".end.json"); }

std::string AttemptRecord::Encode() const {
  Json json;
  json["pipe_attempt"] = 1;
  json["number"] = number;
  for (const std::string& nonce : nonces) json["nonces"].Append(nonce);
  json["coordinator"] = coordinator;
  json["step"] = step;
  json["local"] = local;
  json["data"] = data;
  return json.Dump() + "\n";
}

Result<AttemptRecord> ParseAttemptRecord(std::string_view text, std::string_view where) {
  const Status wrong(Code::kDataLoss, StrCat(where, ": is no attempt of hosts, of version 1"));
  const Result<Json> json = Json::Parse(text);
  if (!json.ok() || (*json)["pipe_attempt"].AsInt() != 1 || !(*json)["step"].is_int()) return wrong;
  AttemptRecord record;
  record.number = (*json)["number"].AsInt();
  for (const Json& nonce : (*json)["nonces"].AsArray()) record.nonces.emplace_back(nonce.AsString());
  if (record.number < 1 || record.nonces.empty() || record.nonces.size() > kMostHosts) return wrong;
  record.coordinator = Readable((*json)["coordinator"].AsString(), kLongestRecordText);
  record.step = (*json)["step"].AsInt();
  record.local = (*json)["local"].AsBool();
  record.data = Readable((*json)["data"].AsString(), kLongestRecordText);
  return record;
}

std::string AttemptEndRecord::Encode() const {
  Json json;
  json["pipe_attempt_end"] = 1;
  json["number"] = number;
  json["lost"] = Json(Json::Array{});
  for (const int host : lost) json["lost"].Append(host);
  json["reason"] = reason;
  return json.Dump() + "\n";
}

}  // namespace pipeline
