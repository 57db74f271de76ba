#include "plugins/train/slice/slice_objects.h"

#include <string_view>
#include <utility>

#include "base/str.h"
#include "base/words.h"
#include "plugins/train/hosts/host_position.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kMostBytes = 4 << 20;  // an attempt of the most hosts has some 200 KiB

constexpr std::string_view kCards = "hosts/", kCardEnd = ".json";
constexpr std::size_t kRecipeDigits = 16;  // at the end of the name of a run directory

std::string CardName(int host) { return StrCat(kCards, host, kCardEnd); }

bool IsHex(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

/// Parses "train-0123456789abcdef/hosts/2.json". `own`: the name of this run's directory. Absent: it is
/// another object, or one of this run.
std::optional<OtherCardName> ParseOtherCard(std::string_view name, std::string_view own) {
  const std::string_view run = name.substr(0, name.find('/'));
  if (own.size() <= kRecipeDigits || run.size() != own.size() || run == own || name.size() == run.size())
    return {};
  const std::size_t stage = own.size() - kRecipeDigits;
  if (run.substr(0, stage) != own.substr(0, stage) || !IsHex(run.substr(stage))) return {};
  std::string_view card = name.substr(run.size() + 1);
  if (!card.starts_with(kCards) || !card.ends_with(kCardEnd)) return {};
  card.remove_prefix(kCards.size());
  card.remove_suffix(kCardEnd.size());
  const auto host = ParseNumber<int>(card);
  if (!host || *host < 0 || *host >= kMostHosts) return {};
  return OtherCardName{.run = std::string(run), .host = *host};
}

}  // namespace

SliceObjects::SliceObjects(const PluginStorage& storage, std::string run_uri, Sources sources)
    : storage_(storage), run_uri_(std::move(run_uri)), sources_(std::move(sources)) {}

Result<std::optional<StoredCard>> SliceObjects::ReadCard(int host) {
  const std::string uri = Uri(CardName(host));
  ASSIGN_OR_RETURN(std::optional<PluginStorage::Whole> whole, storage_.ReadWhole(uri, kMostBytes));
  if (!whole) return std::optional<StoredCard>();
  StoredCard stored{.card = {}, .version = std::move(whole->version)};
  Result<HostCard> card = ParseHostCard(whole->bytes, uri);
  // A damaged card is nobody's; its host replaces it by its version.
  if (card.ok()) stored.card = std::move(*card);
  return std::optional(std::move(stored));
}

Result<std::optional<std::string>> SliceObjects::WriteCard(const HostCard& card, const std::string& known) {
  // Also after a stop: the others wait for the last words of this host.
  return WriteIfKnown(storage_, Uri(CardName(card.host)), card.Encode(), known,
                      PluginStorage::AtStop::kGoesOn);
}

Result<std::optional<AttemptRecord>> SliceObjects::ReadAttempt(std::int64_t number) {
  const std::string uri = Uri(AttemptName(number));
  ASSIGN_OR_RETURN(const std::optional<PluginStorage::Whole> whole, storage_.ReadWhole(uri, kMostBytes));
  if (!whole) return std::optional<AttemptRecord>();
  ASSIGN_OR_RETURN(AttemptRecord attempt, ParseAttemptRecord(whole->bytes, uri));
  return std::optional(std::move(attempt));
}

Result<bool> SliceObjects::HasEnd(std::int64_t number) {
  ASSIGN_OR_RETURN(const std::optional<PluginStorage::Whole> whole,
                   storage_.ReadWhole(Uri(AttemptEndName(number)), kMostBytes));
  return whole.has_value();
}

Result<bool> SliceObjects::Create(const std::string& name, const std::string& bytes) {
  ASSIGN_OR_RETURN(const std::optional<std::string> created,
                   WriteIfKnown(storage_, Uri(name), bytes, {}, PluginStorage::AtStop::kGoesOn));
  if (created) return true;
  ASSIGN_OR_RETURN(const std::optional<PluginStorage::Whole> there,
                   storage_.ReadWhole(Uri(name), kMostBytes));
  return there && there->bytes == bytes;
}

Result<bool> SliceObjects::CreateAttempt(const AttemptRecord& attempt) {
  return Create(AttemptName(attempt.number), attempt.Encode());
}

Result<bool> SliceObjects::CreateEnd(const AttemptEndRecord& end) {
  return Create(AttemptEndName(end.number), end.Encode());
}

Result<std::vector<OtherCardName>> SliceObjects::ListOtherCards() {
  const std::size_t slash = run_uri_.rfind('/');
  ASSIGN_OR_RETURN(const std::vector<PluginStorage::Object> listed, storage_.List(run_uri_.substr(0, slash)));
  std::vector<OtherCardName> names;
  for (const PluginStorage::Object& object : listed)
    if (auto name = ParseOtherCard(object.name, std::string_view(run_uri_).substr(slash + 1)))
      names.push_back(std::move(*name));
  return names;
}

Result<std::optional<HostCard>> SliceObjects::ReadOtherCard(const OtherCardName& name) {
  const std::string uri =
      StrCat(run_uri_.substr(0, run_uri_.rfind('/')), "/", name.run, "/", CardName(name.host));
  ASSIGN_OR_RETURN(const std::optional<PluginStorage::Whole> whole, storage_.ReadWhole(uri, kMostBytes));
  if (!whole) return std::optional<HostCard>();
  Result<HostCard> card = ParseHostCard(whole->bytes, uri);
  if (!card.ok()) return std::optional<HostCard>();
  const auto at = static_cast<std::size_t>(name.host);
  if (at < sources_.addresses.size() && sources_.addresses[at] != card->address)
    return std::optional<HostCard>();
  return std::optional(std::move(*card));
}

}  // namespace pipeline
