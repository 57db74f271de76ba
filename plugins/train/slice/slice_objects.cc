#include "plugins/train/slice/slice_objects.h"

#include <utility>

#include "base/str.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kMostBytes = 4 << 20;  // an attempt of the most hosts has some 200 KiB

std::string CardName(int host) { return StrCat("hosts/", host, ".json"); }

}  // namespace

SliceObjects::SliceObjects(HostStorage storage, std::string run_uri, Sources sources)
    : storage_(storage), run_uri_(std::move(run_uri)), sources_(std::move(sources)) {}

Result<std::optional<StoredCard>> SliceObjects::ReadCard(int host) {
  const std::string uri = Uri(CardName(host));
  ASSIGN_OR_RETURN(std::optional<HostStorage::Whole> whole, storage_.ReadWhole(uri, kMostBytes));
  if (!whole) return std::optional<StoredCard>();
  StoredCard stored{.card = {}, .version = std::move(whole->version)};
  Result<HostCard> card = ParseHostCard(whole->bytes, uri);
  // A damaged card is nobody's; its host replaces it by its version.
  if (card.ok()) stored.card = std::move(*card);
  return std::optional(std::move(stored));
}

Result<std::optional<std::string>> SliceObjects::WriteCard(const HostCard& card, const std::string& known) {
  // Also after a stop: the others wait for the last words of this host.
  return storage_.WriteWhole(Uri(CardName(card.host)), card.Encode(), known, PIPE_AFTER_STOP);
}

Result<std::optional<AttemptRecord>> SliceObjects::ReadAttempt(std::int64_t number) {
  const std::string uri = Uri(AttemptName(number));
  ASSIGN_OR_RETURN(const std::optional<HostStorage::Whole> whole, storage_.ReadWhole(uri, kMostBytes));
  if (!whole) return std::optional<AttemptRecord>();
  ASSIGN_OR_RETURN(AttemptRecord attempt, ParseAttemptRecord(whole->bytes, uri));
  return std::optional(std::move(attempt));
}

Result<bool> SliceObjects::HasEnd(std::int64_t number) {
  ASSIGN_OR_RETURN(const std::optional<HostStorage::Whole> whole,
                   storage_.ReadWhole(Uri(AttemptEndName(number)), kMostBytes));
  return whole.has_value();
}

Result<bool> SliceObjects::Create(const std::string& name, const std::string& bytes) {
  ASSIGN_OR_RETURN(const std::optional<std::string> created,
                   storage_.WriteWhole(Uri(name), bytes, {}, PIPE_AFTER_STOP));
  if (created) return true;
  ASSIGN_OR_RETURN(const std::optional<HostStorage::Whole> there, storage_.ReadWhole(Uri(name), kMostBytes));
  return there && there->bytes == bytes;
}

Result<bool> SliceObjects::CreateAttempt(const AttemptRecord& attempt) {
  return Create(AttemptName(attempt.number), attempt.Encode());
}

Result<bool> SliceObjects::CreateEnd(const AttemptEndRecord& end) {
  return Create(AttemptEndName(end.number), end.Encode());
}

}  // namespace pipeline
