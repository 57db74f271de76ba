#include "dag/records/partition_output.h"

#include <charconv>
#include <memory>

#include "base/str.h"

namespace pipeline {

namespace {

/// Takes a number of at least `width` digits from the front, written as ZeroPadded writes it.
std::optional<std::uint32_t> TakeNumber(std::string_view& text, std::size_t width) {
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto digits = static_cast<std::size_t>(end - text.data());
  if (error != std::errc() || digits < width) return std::nullopt;
  if (digits > width && text.front() == '0') return std::nullopt;
  text.remove_prefix(digits);
  return number;
}

constexpr int kInputDigits = 4;
constexpr int kPartitionDigits = 5;

}  // namespace

std::string OutputName(PartitionId id, std::string_view suffix) {
  return StrCat(ZeroPadded(id.input, kInputDigits), '-', ZeroPadded(id.partition, kPartitionDigits), suffix);
}

std::optional<PartitionId> ParseOutputName(std::string_view object) {
  const std::optional<std::uint32_t> input = TakeNumber(object, kInputDigits);
  if (!input || object.empty() || object.front() != '-') return std::nullopt;
  object.remove_prefix(1);
  const std::optional<std::uint32_t> partition = TakeNumber(object, kPartitionDigits);
  if (!partition || object.empty() || object.front() != '.') return std::nullopt;
  return PartitionId{*input, *partition};
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
