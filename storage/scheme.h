// The schemes that locations have, and what must be known of each without opening a location.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace pipeline {

/// One object per scheme; its address tells schemes apart. It lasts as long as the program.
struct Scheme {
  /// The text behind `NAME://`.
  enum class Form : std::uint8_t {
    kPath,    // a path of this machine, percent-encoded
    kBucket,  // BUCKET/OBJECT, not encoded; the object, or the prefix of many, may be empty
    kWeb,     // HOST/PATH?QUERY, percent-encoded; user info and query may hold secrets
  };

  std::string_view name;  // in lower case
  Form form = Form::kBucket;
  bool lists = false;  // the names below a location can be listed: it may be a directory or a pattern
  bool writable = false;
  int connections = 1;  // to one server at once, if nobody gives a number

  bool is_local() const { return form == Form::kPath; }
};

/// Paths without a scheme have it, too. The only one of this machine.
inline constexpr Scheme kLocalScheme{"file", Scheme::Form::kPath, true, true};

/// Sets the schemes of the program: kLocalScheme, then these. Call it before a location is parsed, while
/// there is one thread; programs call InstallSchemes (storage/remote/remote_schemes.h). Before the first call
/// there is kLocalScheme only.
void SetRemoteSchemes(std::vector<const Scheme*> remote);
std::span<const Scheme* const> Schemes();
/// Null: there is no scheme of exactly this name.
const Scheme* FindScheme(std::string_view name);

}  // namespace pipeline
