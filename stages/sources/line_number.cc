#include "stages/sources/line_number.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "formats/line_cutter.h"

namespace pipeline {

namespace {

constexpr std::size_t kPieceBytes = 256 << 10;
constexpr std::uint64_t kDecoderMemory = std::uint64_t{64} << 20;

/// The text of an input, from its front to kCountedText. Readers follow each other.
class FrontText {
 public:
  /// Null: the input is an archive or cannot be read.
  static std::unique_ptr<FrontText> Open(const InputFile& file, const InputRules& rules,
                                         const std::stop_token& stop) {
    InputRules from_front = rules;
    from_front.from_front = true;
    Result<DecodedInput> input = DecodedInput::Open(file, from_front, 1, kDecoderMemory, stop);
    if (!input.ok() || input->members() != nullptr) return nullptr;
    return std::unique_ptr<FrontText>(new FrontText(std::move(*input), stop));
  }

  /// Calls `take` with one piece after the other, the last of them empty, until it returns false. Returns
  /// false if the text cannot be read, or goes on behind kCountedText.
  bool ForEachPiece(const std::function<bool(std::string_view)>& take) const {
    Result<std::unique_ptr<ByteReader>> reader =
        input_.Read({0, kCountedText}, std::nullopt, std::make_shared<EncodingChoice>(), stop_);
    if (!reader.ok()) return false;
    std::string buffer(kPieceBytes, '\0');
    for (std::uint64_t at = 0; at < kCountedText && !stop_.stop_requested();) {
      const Result<std::size_t> got = (*reader)->Read(buffer);
      if (!got.ok()) return false;
      if (!take(std::string_view(buffer).substr(0, *got))) return true;
      if (*got == 0) return true;
      at += *got;
    }
    return false;
  }

 private:
  FrontText(DecodedInput input, const std::stop_token& stop) : input_(std::move(input)), stop_(stop) {}

  const DecodedInput input_;
  const std::stop_token stop_;
};

/// Counts the lines that end before offset `at`.
std::optional<std::uint64_t> CountLines(const FrontText& text, LineEnds ends, std::uint64_t at) {
  std::uint64_t lines = 1, left = at;
  bool after_cr = false;
  const bool read = text.ForEachPiece([&](std::string_view piece) {
    piece = piece.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(piece.size(), left)));
    left -= piece.size();
    if (ends == LineEnds::kLf) {
      lines += static_cast<std::uint64_t>(std::count(piece.begin(), piece.end(), '\n'));
    } else {
      for (const char byte : piece) {
        if (byte == '\r' || (byte == '\n' && !after_cr)) ++lines;
        after_cr = byte == '\r';
      }
    }
    return left > 0 && !piece.empty();
  });
  return read && left == 0 ? std::optional(lines) : std::nullopt;
}

/// Calls `is_found` with each record until it returns true. Returns the line of that record.
std::optional<std::uint64_t> FindLine(const InputFile& file, const LineRules& rules, const InputRules& input,
                                      const std::stop_token& stop,
                                      const std::function<bool(const CutRecord&)>& is_found) {
  const std::unique_ptr<FrontText> text = FrontText::Open(file, input, stop);
  if (text == nullptr) return std::nullopt;
  LineCutter cutter(rules);
  std::optional<std::uint64_t> begin;
  const auto cut = [&](std::string_view piece) {
    piece.empty() ? cutter.FinishInput() : cutter.Feed(piece);
    while (true) {
      const Result<LineCutter::Event> event = cutter.Next();
      if (!event.ok() || *event == LineCutter::Event::kInputEnd) return false;
      if (*event == LineCutter::Event::kNeedInput) return true;
      if (*event != LineCutter::Event::kRecord && *event != LineCutter::Event::kSetAside) continue;
      if (!is_found(cutter.record())) continue;
      begin = cutter.record().begin;
      return false;
    }
  };
  if (!text->ForEachPiece(cut) || !begin) return std::nullopt;
  return CountLines(*text, cutter.ends(), *begin);
}

}  // namespace

std::optional<std::uint64_t> LineAt(const InputFile& file, const LineRules& rules, const InputRules& input,
                                    std::uint64_t at, const std::stop_token& stop) {
  if (at >= kCountedText) return std::nullopt;
  return FindLine(file, rules, input, stop, [at](const CutRecord& record) { return record.begin >= at; });
}

std::optional<std::uint64_t> LineOfRecord(const InputFile& file, const LineRules& rules,
                                          const InputRules& input, std::uint32_t partition,
                                          std::uint64_t index, const std::stop_token& stop) {
  return FindLine(file, rules, input, stop, [partition, index](const CutRecord& record) {
    return record.partition == partition && record.index == index;
  });
}

}  // namespace pipeline
