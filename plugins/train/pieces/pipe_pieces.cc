// No exception passes these functions: Python stands behind them.
#include "plugins/train/pieces/pipe_pieces.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/sentencepiece/line_codec.h"
#include "text/text_normalizer.h"

struct pipe_pieces {
  std::vector<pipeline::TextNormalizer> rules;
  std::unique_ptr<const pipeline::LineCodec> codec;
};

namespace {

constexpr std::int64_t kRefused = -1;

/// `body`, or what stands for a failure where memory is full.
template <class Value, class Body>
Value Guarded(Value failed, const Body& body) {
  try {
    return body();
  } catch (...) {
    return failed;
  }
}

void Say(std::string_view why, char* error, std::size_t room) {
  (void)std::snprintf(error, room, "%.*s", static_cast<int>(why.size()), why.data());
}

}  // namespace

extern "C" {

std::uint32_t pipe_pieces_abi(void) { return PIPE_PIECES_ABI; }

pipe_pieces* pipe_pieces_open(const char* model, std::size_t bytes, std::int32_t vocabulary,
                              const pipe_pieces_rule* rules, std::size_t count, char* error,
                              std::size_t error_bytes) {
  Say("memory is full", error, error_bytes);
  return Guarded<pipe_pieces*>(nullptr, [&]() -> pipe_pieces* {
    const auto kind =
        vocabulary != 0 ? pipeline::TokenizerKind::kVocabulary : pipeline::TokenizerKind::kSentencePiece;
    auto codec = pipeline::LineCodec::Open(kind, {model, bytes}, pipeline::SpaceMarks::kBytes);
    if (!codec.ok()) {
      Say(codec.status().message(), error, error_bytes);
      return nullptr;
    }
    std::vector<pipeline::TextNormalizer> made;
    for (const pipe_pieces_rule& rule : std::span(rules, count))
      made.emplace_back(
          pipeline::TextForm{.form = pipeline::FormNamed(rule.form),
                             .jamo = rule.keep_jamo != 0 ? pipeline::Jamo::kKeep : pipeline::Jamo::kCompose,
                             .letter_case = pipeline::CaseNamed(rule.letter_case),
                             .collapse = rule.collapse != 0});
    return new pipe_pieces{std::move(made), std::move(codec).value()};
  });
}

void pipe_pieces_close(pipe_pieces* pieces) { delete pieces; }

std::int64_t pipe_pieces_encode(const pipe_pieces* pieces, const char* line, std::size_t bytes,
                                std::uint32_t* ids, std::size_t room) {
  return Guarded(kRefused, [&] {
    std::string text(line, bytes);
    for (const pipeline::TextNormalizer& rule : pieces->rules) {
      std::string changed;
      if (!rule.Append(text, changed).ok()) return kRefused;
      text = std::move(changed);
    }
    std::vector<std::uint32_t> found, ends;
    if (!pieces->codec->Encode(text, found, ends).ok()) return kRefused;
    std::copy_n(found.begin(), std::min(room, found.size()), ids);
    return static_cast<std::int64_t>(found.size());
  });
}

std::int64_t pipe_pieces_decode(const pipe_pieces* pieces, const std::uint32_t* ids, std::size_t count,
                                char* text, std::size_t room) {
  return Guarded(kRefused, [&] {
    const pipeline::Result<std::string> found = pieces->codec->Decode(std::span(ids, count));
    if (!found.ok()) return kRefused;
    std::copy_n(found->begin(), std::min(room, found->size()), text);
    return static_cast<std::int64_t>(found->size());
  });
}

}  // extern "C"
