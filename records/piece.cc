#include "records/piece.h"

#include <charconv>

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

std::string PieceName(PartitionId id, std::string_view suffix) {
  return StrCat(ZeroPadded(id.input, kInputDigits), '-', ZeroPadded(id.partition, kPartitionDigits), suffix);
}

std::optional<PartitionId> ParsePieceName(std::string_view object) {
  const std::optional<std::uint32_t> input = TakeNumber(object, kInputDigits);
  if (!input || object.empty() || object.front() != '-') return std::nullopt;
  object.remove_prefix(1);
  const std::optional<std::uint32_t> partition = TakeNumber(object, kPartitionDigits);
  if (!partition || object.empty() || object.front() != '.') return std::nullopt;
  return PartitionId{*input, *partition};
}

Status PieceError(std::string_view object, Status why) { return std::move(why).Annotate(object); }

Status PieceErrorOf(std::string_view stage, Status why) {
  if (DamagedPiece(why)) return {why.code(), StrCat(stage, "/", why.message())};
  return why.code() == Code::kCancelled ? why : std::move(why).Annotate(stage);
}

std::optional<PieceOf> DamagedPieceOf(const Status& status) {
  const std::string_view message = status.message();
  const std::size_t slash = message.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::optional<PartitionId> id =
      DamagedPiece(Status(status.code(), std::string(message.substr(slash + 1))));
  if (!id) return std::nullopt;
  return PieceOf{std::string(message.substr(0, slash)), *id};
}

std::optional<PartitionId> DamagedPiece(const Status& status) {
  if (status.code() != Code::kDataLoss && status.code() != Code::kNotFound) return std::nullopt;
  const std::string_view message = status.message();
  const std::size_t colon = message.find(": ");
  return colon == std::string_view::npos ? std::nullopt : ParsePieceName(message.substr(0, colon));
}

}  // namespace pipeline
