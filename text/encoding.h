// Decodes text in encodings other than UTF-8, with ICU. Rules: text/encodings.md.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace pipeline {

/// From kGb18030 on: a text in it is recognised and named in an error, but never read.
enum class Encoding : std::uint8_t {
  kUtf8,
  kShiftJis,
  kEucJp,
  kIso2022Jp,
  kCp949,
  kJohab,
  kIso2022Kr,
  kUtf16Le,
  kUtf16Be,
  kGb18030,
  kBig5,
  kKoi8,
  kWindows1251,
  kTis620,
  kWindows1252,
  kHz,
  kIso2022Cn,
  kUtf7
};

/// Those that are read.
inline constexpr std::array kEncodings = {Encoding::kUtf8,      Encoding::kShiftJis, Encoding::kEucJp,
                                          Encoding::kIso2022Jp, Encoding::kCp949,    Encoding::kJohab,
                                          Encoding::kIso2022Kr, Encoding::kUtf16Le,  Encoding::kUtf16Be};

constexpr bool IsRead(Encoding encoding) { return encoding < Encoding::kGb18030; }

/// "utf-8", "shift_jis", …: the values of the key `encoding`; or the name of one that is not read.
std::string_view EncodingName(Encoding encoding);
/// Returns the value of the key `encoding` that another usual name means, in any case: "EUC-KR" means
/// "cp949". Empty: none.
std::string_view EncodingOfWord(std::string_view word);
/// Also accepts "cp932" for kShiftJis; absent: unknown name.
std::optional<Encoding> EncodingByName(std::string_view name);

/// Replaces an illegal sequence in decoded text; UTF-8 never has this byte.
inline constexpr char kIllegalSequence = '\xFF';

/// Converts text of one encoding to UTF-8; the division into blocks does not matter. One thread at a time.
/// Keeps only an incomplete character between calls.
class EncodingDecoder {
 public:
  /// `encoding` must not be kUtf8. kUnimplemented: ICU lacks the table.
  static Result<EncodingDecoder> New(Encoding encoding);
  EncodingDecoder(EncodingDecoder&&) noexcept;
  EncodingDecoder& operator=(EncodingDecoder&&) noexcept;
  ~EncodingDecoder();

  /// Appends `bytes` as UTF-8. With `last` they end the text, and no call may follow.
  Status Decode(std::string_view bytes, bool last, std::string& utf8);

 private:
  struct State;
  Status DecodeByTable(std::string_view bytes, bool last, std::string& utf8);
  Status DecodeJohab(std::string_view bytes, bool last, std::string& utf8);
  explicit EncodingDecoder(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace pipeline
