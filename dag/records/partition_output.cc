#include "dag/records/partition_output.h"

#include <memory>

#include "base/str.h"
#include "base/words.h"

namespace pipeline {

std::string PartitionName(PartitionId id) {
  return StrCat(ZeroPadded(id.input, 4), '-', ZeroPadded(id.partition, 5));
}

std::optional<PartitionId> ParsePartitionName(std::string_view name) {
  const std::size_t dash = name.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto input = ParseNumber<std::uint32_t>(name.substr(0, dash));
  const auto partition = ParseNumber<std::uint32_t>(name.substr(dash + 1));
  if (!input || !partition) return std::nullopt;
  const PartitionId id{*input, *partition};
  if (PartitionName(id) != name) return std::nullopt;
  return id;
}

std::string OutputName(PartitionId id, std::string_view suffix) {
  return PartitionName(id) + std::string(suffix);
}

std::optional<PartitionId> ParseOutputName(std::string_view object) {
  const std::size_t dot = object.find('.');
  return dot == std::string_view::npos ? std::nullopt : ParsePartitionName(object.substr(0, dot));
}

Status OutputError(std::string_view object, Status why) {
  const bool damaged = why.code() == Code::kDataLoss || why.code() == Code::kNotFound;
  const std::optional<PartitionId> id = damaged ? ParseOutputName(object) : std::nullopt;
  std::string words(why.message());
  Status where = std::move(why).Annotate(object);
  if (!id) return where;
  return std::move(where).With(std::make_shared<DamagedOutputDetail>(std::string(), *id, std::move(words)));
}

std::optional<PartitionId> DamagedOutput(const Status& status) {
  const auto* const damaged = status.Detail<DamagedOutputDetail>();
  return damaged == nullptr ? std::nullopt : std::optional(damaged->id);
}

Status OutputErrorOf(std::string_view stage, Status why) {
  const auto* const damaged = why.Detail<DamagedOutputDetail>();
  if (damaged == nullptr) return why.code() == Code::kCancelled ? why : std::move(why).Annotate(stage);
  auto fact = std::make_shared<DamagedOutputDetail>(std::string(stage), damaged->id, damaged->why);
  std::string words = StrCat(stage, "/", why.message());
  return std::move(why).Reword(std::move(words)).With(std::move(fact));
}

std::optional<OutputOf> DamagedOutputOf(const Status& status) {
  const auto* const damaged = status.Detail<DamagedOutputDetail>();
  if (damaged == nullptr || damaged->stage.empty()) return std::nullopt;
  return OutputOf{damaged->stage, damaged->id};
}

}  // namespace pipeline
