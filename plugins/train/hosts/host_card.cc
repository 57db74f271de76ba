#include "plugins/train/hosts/host_card.h"

#include <algorithm>
#include <array>

#include "base/json.h"
#include "base/str.h"
#include "base/terminal_text.h"
#include "plugins/train/hosts/host_position.h"

namespace pipeline {

namespace {

constexpr std::size_t kLongestCardText = 1000;  // of a message or a name
constexpr int kAttemptDigits = 5;
constexpr std::array<std::string_view, 3> kOutcomes = {"done", "stopped", "failed"};

/// Texts of another machine end up in messages.
std::string TextOf(const Json& value) { return Readable(value.AsString(), kLongestCardText); }

std::string NameOfAttempt(std::int64_t number, std::string_view end) {
  return StrCat("attempts/", ZeroPadded(static_cast<std::uint64_t>(number), kAttemptDigits), end);
}

Json ToJson(const LocalCheckpoint& one) {
  Json json = Json::Object{{"step", one.step}, {"attempt", one.attempt}};
  if (!one.part.empty()) json["part"] = one.part;
  return json;
}

LocalCheckpoint LocalOf(const Json& json) {
  return {.step = json["step"].AsInt(-1), .attempt = json["attempt"].AsInt(), .part = TextOf(json["part"])};
}

Json ToJson(const TrainerEnd& end) {
  Json json = Json::Object{{"attempt", end.attempt}, {"code", end.code},   {"signal", end.signal},
                           {"hung", end.hung},       {"cause", end.cause}, {"progressed", end.progressed}};
  if (end.lost) json["lost"] = true;
  if (end.fatal) json["fatal"] = true;
  if (end.again) json["again"] = true;
  return json;
}

TrainerEnd TrainerEndOf(const Json& json) {
  return {.attempt = json["attempt"].AsInt(),
          .code = static_cast<int>(std::clamp<std::int64_t>(json["code"].AsInt(), 0, 255)),
          .signal = static_cast<int>(std::clamp<std::int64_t>(json["signal"].AsInt(), 0, 255)),
          .hung = json["hung"].AsBool(),
          .progressed = json["progressed"].AsBool(),
          .lost = json["lost"].AsBool(),
          .fatal = json["fatal"].AsBool(),
          .again = json["again"].AsBool(),
          .cause = TextOf(json["cause"])};
}

Json ToJson(const TrainingEnd& end) {
  return Json::Object{{"outcome", kOutcomes[static_cast<std::size_t>(end.outcome)]},
                      {"code", CodeName(end.code)},
                      {"message", end.message}};
}

/// The code of this name; a newer program may have others.
Code CodeOf(std::string_view name) {
  for (int code = 0; code <= static_cast<int>(Code::kPreempted); ++code)
    if (CodeName(static_cast<Code>(code)) == name) return static_cast<Code>(code);
  return Code::kInternal;
}

Result<TrainingEnd> RunEndOf(const Json& json, const Status& wrong) {
  const auto found = std::find(kOutcomes.begin(), kOutcomes.end(), json["outcome"].AsString());
  if (found == kOutcomes.end()) return wrong;
  return TrainingEnd{.outcome = static_cast<TrainingOutcome>(found - kOutcomes.begin()),
                     .code = CodeOf(json["code"].AsString()),
                     .message = TextOf(json["message"])};
}

}  // namespace

std::string HostCard::Encode() const {
  Json json =
      Json::Object{{"pipe_host", 1},         {"host", host},
                   {"hosts", hosts},         {"nonce", nonce},
                   {"boot", boot},           {"address", address},
                   {"sign", sign},           {"digests", Json::Object(digests.begin(), digests.end())},
                   {"local", Json::Array{}}, {"trains", trains}};
  for (const LocalCheckpoint& one : local) json["local"].Append(ToJson(one));
  if (ended) json["ended"] = ToJson(*ended);
  if (fetches) json["fetches"] = true;
  if (leaves) json["leaves"] = true;
  if (stop != 0) json["stop"] = stop;
  if (send) json["send"] = ToJson(*send);
  if (over) json["over"] = ToJson(*over);
  return json.Dump() + "\n";
}

Result<HostCard> ParseHostCard(std::string_view text, std::string_view where) {
  const Status wrong(Code::kDataLoss, StrCat(where, ": is no card of a host, of version 1"));
  const Result<Json> parsed = Json::Parse(text);
  if (!parsed.ok()) return wrong;
  const Json& json = *parsed;
  const std::int64_t host = json["host"].AsInt(-1), hosts = json["hosts"].AsInt();
  if (json["pipe_host"].AsInt() != 1 || host < 0 || host >= hosts || hosts > kMostHosts ||
      !json["sign"].is_int() || json["nonce"].AsString().empty())
    return wrong;
  HostCard card;
  card.host = static_cast<int>(host);
  card.hosts = static_cast<int>(hosts);
  card.nonce = TextOf(json["nonce"]);
  card.boot = TextOf(json["boot"]);
  card.address = TextOf(json["address"]);
  card.sign = json["sign"].AsInt();
  for (const auto& [name, digest] : json["digests"].AsObject()) card.digests[name] = TextOf(digest);
  for (const Json& one : json["local"].AsArray()) card.local.push_back(LocalOf(one));
  card.trains = json["trains"].AsInt();
  if (json["ended"].is_object()) card.ended = TrainerEndOf(json["ended"]);
  card.fetches = json["fetches"].AsBool();
  card.leaves = json["leaves"].AsBool();
  card.stop = json["stop"].AsInt();
  if (json["send"].is_object()) card.send = LocalOf(json["send"]);
  if (json["over"].is_object()) {
    ASSIGN_OR_RETURN(card.over, RunEndOf(json["over"], wrong));
  }
  return card;
}

std::string AttemptName(std::int64_t number) { return NameOfAttempt(number, ".json"); }
std::string AttemptEndName(std::int64_t number) { return NameOfAttempt(number, ".end.json"); }

std::string AttemptRecord::Encode() const {
  Json json = Json::Object{{"pipe_attempt", 1}, {"number", number}, {"coordinator", coordinator},
                           {"step", step},      {"local", local},   {"data", data}};
  for (const std::string& nonce : nonces) json["nonces"].Append(nonce);
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
  record.coordinator = TextOf((*json)["coordinator"]);
  record.step = (*json)["step"].AsInt();
  record.local = (*json)["local"].AsBool();
  record.data = TextOf((*json)["data"]);
  return record;
}

std::string AttemptEndRecord::Encode() const {
  const Json json = Json::Object{{"pipe_attempt_end", 1},
                                 {"number", number},
                                 {"lost", Json::Array(lost.begin(), lost.end())},
                                 {"reason", reason}};
  return json.Dump() + "\n";
}

}  // namespace pipeline
