#include "dag/location/numbered_lease.h"

#include <cstdio>
#include <optional>

#include "base/json_fields.h"
#include "base/random_name.h"
#include "base/str.h"
#include "base/words.h"

namespace pipeline {

namespace {

constexpr std::string_view kSignName = ".pipe/lease/alive";
constexpr std::uint64_t kHighestStep = 10'000'000, kNumbers = 100'000'000;
constexpr int kDigits = 8;

std::string NameOf(std::uint64_t number) { return StrCat(kNumberedLeasePrefix, ZeroPadded(number, kDigits)); }

std::optional<std::uint64_t> NumberOf(std::string_view name) {
  const std::string_view digits = name.substr(kNumberedLeasePrefix.size());
  return digits.size() == kDigits ? ParseNumber<std::uint64_t>(digits) : std::nullopt;
}

/// Returns the sign of life. Empty: there is none that can be read; this decides nothing.
Json ReadSign(Store& out, const std::stop_token& stop) {
  const Result<std::string> text = ReadObject(out, kSignName, kMaxLeaseBytes, stop);
  Result<Json> json = text.ok() ? Json::Parse(*text) : Result<Json>(text.status());
  return json.ok() && json->is_object() ? std::move(*json) : Json();
}

}  // namespace

bool IsOldNumber(std::uint64_t number, std::uint64_t highest) {
  std::uint64_t step = 10;
  while (number % step == 0) step *= 10;
  return highest >= (number / step + 1) * step;
}

NumberedLease::NumberedLease(Store& out, std::string location, LeaseTerms terms, bool locked)
    : Lease(out, std::move(location), std::move(terms)), locked_(locked), nonce_(RandomName(32)) {}

Result<bool> NumberedLease::Exists(std::uint64_t number) {
  // The file is opened, because this asks the server; other facts about names may be some seconds old.
  const Result<std::unique_ptr<ByteFile>> file = out_.Open(NameOf(number));
  if (file.ok()) return true;
  if (file.status().code() == Code::kNotFound) return false;
  return file.status();
}

Result<std::uint64_t> NumberedLease::Highest(const std::stop_token& stop) {
  std::uint64_t highest = 0;
  for (std::uint64_t step = kHighestStep; step > 0; step /= 10) {
    while (highest + step < kNumbers) {
      if (stop.stop_requested()) return Status(Code::kCancelled, "stopped");
      ASSIGN_OR_RETURN(const bool exists, Exists(highest + step));
      if (!exists) break;
      highest += step;
    }
  }
  return highest;
}

Result<std::optional<SeenLease>> NumberedLease::Look(std::stop_token stop) {
  ASSIGN_OR_RETURN(number_, Highest(stop));
  if (number_ == 0) return std::nullopt;
  ASSIGN_OR_RETURN(SeenLease seen, Read(NameOf(number_), StrCat(number_), stop));
  if (const Json sign = ReadSign(out_, stop); !seen.nonce.empty() && sign["nonce"].AsString() == seen.nonce)
    seen.version += StrCat('-', sign["renewal"].AsInt());
  return seen;
}

Result<bool> NumberedLease::TakeSeen(const std::optional<SeenLease>&, std::stop_token stop) {
  const std::uint64_t next = number_ + 1;
  Status taken = Create(next, terms_.holder, stop);
  if (taken.code() == Code::kAlreadyExists) return false;
  RETURN_IF_ERROR(taken);
  // A run that was delayed after its look may have made a number that existed before and was removed.
  ASSIGN_OR_RETURN(const std::uint64_t highest, Highest(stop));
  if (highest != next) return false;
  number_ = next;
  RemoveOld();
  return true;
}

Status NumberedLease::Create(std::uint64_t number, std::string_view holder, const std::stop_token& stop) {
  if (number >= kNumbers)
    return Status(Code::kResourceExhausted,
                  StrCat(location_, ": its lease has no number left; name another `out`"));
  JsonWriter json;
  json.Written("pipe_lease", 2).Written("number", number).Written("holder", std::string(holder));
  json.Written("host", terms_.host).Written("nonce", nonce_).Written("who", terms_.who);
  json.Written("every_ms", terms_.every);
  const std::string text = json.Finish().Dump();
  Status created = WriteObject(out_, NameOf(number), text, Condition::CreateOnly(), stop).status();
  if (created.ok() || created.code() == Code::kCancelled) return created;
  // A failure that a network file system reports says little; the object itself decides.
  const Result<std::string> there = ReadObject(out_, NameOf(number), kMaxLeaseBytes, stop);
  if (there.ok())
    return *there == text ? Status() : Status(Code::kAlreadyExists, StrCat(location_, ": is held"));
  return there.status().code() == Code::kNotFound ? created : there.status();
}

Result<bool> NumberedLease::IsOurs(std::uint64_t number, const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const std::string text, ReadObject(out_, NameOf(number), kMaxLeaseBytes, stop));
  const Result<Json> json = Json::Parse(text);
  return json.ok() && json->is_object() && (*json)["nonce"].AsString() == nonce_;
}

Status NumberedLease::FollowOwn(const std::stop_token& stop) {
  ASSIGN_OR_RETURN(const std::uint64_t highest, Highest(stop));
  if (highest < number_) return LeaseIsLost(location_, kLeaseRemoved);
  if (highest == number_) return {};
  ASSIGN_OR_RETURN(const bool ours, IsOurs(highest, stop));
  if (!ours) return LeaseIsLost(location_, kTakenOver);
  number_ = highest;
  return {};
}

Status NumberedLease::CreateNext(std::string_view holder, const std::stop_token& stop) {
  // Others have waited since an earlier confirmation of this run, perhaps for long, so only a number that is
  // created now counts.
  RETURN_IF_ERROR(FollowOwn(stop));
  for (;;) {
    Status created = Create(number_ + 1, holder, stop);
    if (created.ok()) break;
    if (created.code() != Code::kAlreadyExists) return created;
    ASSIGN_OR_RETURN(const bool ours, IsOurs(number_ + 1, stop));
    if (!ours) return LeaseIsLost(location_, kTakenOver);
    ++number_;  // our number, whose creation was stopped before its answer came
  }
  const std::uint64_t before = number_++;
  ASSIGN_OR_RETURN(const std::uint64_t highest, Highest(stop));
  ASSIGN_OR_RETURN(const bool exists, Exists(before));
  if (highest > number_) return LeaseIsLost(location_, kTakenOver);
  if (highest < number_ || !exists) return LeaseIsLost(location_, kLeaseRemoved);
  return {};
}

Status NumberedLease::WriteSign(const std::stop_token& stop) {
  JsonWriter json;
  json.Written("nonce", nonce_).Written("renewal", ++renewal_);
  return WriteObject(out_, kSignName, json.Finish().Dump(), Condition::ReplaceAny(), stop).status();
}

Status NumberedLease::Renew(std::stop_token stop) {
  RETURN_IF_ERROR(FollowOwn(stop));
  return WriteSign(stop);
}

Status NumberedLease::Confirm(std::stop_token stop) { return CreateNext(terms_.holder, stop); }

Status NumberedLease::GiveBack(std::stop_token stop) {
  RETURN_IF_ERROR(CreateNext({}, stop));
  RemoveOld();
  return {};
}

void NumberedLease::RemoveOld() {
  const Result<std::vector<ObjectInfo>> listed = out_.List(kNumberedLeasePrefix);
  if (!listed.ok()) return;  // the next holder removes them
  for (const ObjectInfo& object : *listed) {
    const std::optional<std::uint64_t> number = NumberOf(object.name);
    if (number && *number > 0 && IsOldNumber(*number, number_) && !out_.Remove(object.name).ok()) return;
  }
}

}  // namespace pipeline
