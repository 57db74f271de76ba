// Text in other encodings than UTF-8, decoded by ICU. Rules: text/encodings.md.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace pipeline {

enum class Encoding : std::uint8_t { kUtf8, kShiftJis, kEucJp, kIso2022Jp, kCp949, kUtf16Le, kUtf16Be };

inline constexpr std::array kEncodings = {Encoding::kUtf8,      Encoding::kShiftJis, Encoding::kEucJp,
                                          Encoding::kIso2022Jp, Encoding::kCp949,    Encoding::kUtf16Le,
                                          Encoding::kUtf16Be};

/// "utf-8", "shift_jis", …, as `encoding` has them.
std::string_view EncodingName(Encoding encoding);
/// Also by a second name, "cp932"; absent for any other.
std::optional<Encoding> EncodingByName(std::string_view name);

/// What stands for an illegal sequence in decoded text: no UTF-8 has this byte.
inline constexpr char kIllegalSequence = '\xFF';

/// Bytes of one encoding as UTF-8, however they are cut into blocks. One thread at a time; what it keeps
/// between calls is a character that is not whole yet.
class EncodingDecoder {
 public:
  /// Not for kUtf8. An error where ICU lacks the table.
  static Result<EncodingDecoder> New(Encoding encoding);
  EncodingDecoder(EncodingDecoder&&) noexcept;
  EncodingDecoder& operator=(EncodingDecoder&&) noexcept;
  ~EncodingDecoder();

  /// Appends what `bytes` are. With `last` they end the text, and nothing may be called after.
  Status Decode(std::string_view bytes, bool last, std::string& utf8);

 private:
  struct State;
  explicit EncodingDecoder(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace pipeline
