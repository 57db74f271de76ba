// YAML text as a small tree in which each node has its position. Scalars stay text: the key that a scalar
// is written for decides the meaning of `1.0.0`, `true` or `1e3`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dag/pipeline_file/mistake.h"

namespace pipeline {

struct YamlEntry;

struct YamlNode {
  enum class Kind : std::uint8_t { kNull, kScalar, kList, kMap };  // kNull: nothing, `~` or `null`

  Kind kind = Kind::kNull;
  FilePosition at;
  std::string text;                // kScalar: without quotes, escapes resolved, valid UTF-8
  bool quoted = false;             // kScalar: written in quotes, or as a block
  std::vector<YamlNode> items;     // kList
  std::vector<YamlEntry> entries;  // kMap, in the order of the file, each key once

  // Variables sets the members below when it replaces `text`.
  std::string written;  // the text before; empty: nothing was replaced
  bool secret = false;  // contains a value of the environment, which no message may show
  bool is_set = false;  // --set gave it, or changed a variable in it
  bool broken = false;  // could not be replaced; the mistake is already reported, and there is no value

  bool is_null() const { return kind == Kind::kNull; }
  bool is_scalar() const { return kind == Kind::kScalar; }
  bool is_list() const { return kind == Kind::kList; }
  bool is_map() const { return kind == Kind::kMap; }
  /// Returns null if this is no map or has no such key.
  const YamlNode* Find(std::string_view key) const;
  YamlNode* Find(std::string_view key);
};

struct YamlEntry {
  std::string key;
  FilePosition key_at;
  YamlNode value;
};

struct ParsedYaml {
  /// Absent: a mistake left nothing to continue with. An empty text is a null.
  std::optional<YamlNode> root;
  /// Reports text that is not UTF-8, tabs as indentation, syntax errors, duplicate keys (the first one
  /// counts), tags, a second document, and anything larger than a person would write.
  std::vector<Mistake> mistakes;
};

/// Resolves anchors and aliases; a copy keeps the positions of the original.
ParsedYaml ParseYaml(std::string_view text);

/// Finds a character that a pipeline file may not contain (not UTF-8, or a control character) and the
/// offset of its first byte. Absent: there is none.
struct BadCharacter {
  std::size_t offset = 0;
  std::string what;
};
std::optional<BadCharacter> FindBadCharacter(std::string_view text);

/// For messages: "a list", "a map", "nothing", or the text of a scalar in quotes, cut if long. A replaced
/// scalar is shown as it was written and, unless it is secret, with its new text.
std::string Describe(const YamlNode& node);

/// The quote that makes a text invalid YAML. A parser notices it only at the end of the text or at another
/// quote, perhaps many lines below.
struct OpenQuote {
  std::size_t opens = 0;  // offset of the opening quote
  std::optional<std::size_t>
      closes;  // offset of the quote that the parser takes for its end; absent: there is none
};

/// Finds the first quoted scalar of `text` that is not closed, or that invalid text follows. The first case
/// is a mistake in any text. The second explains why a parser refused the text; it does not prove a
/// mistake.
std::optional<OpenQuote> FindOpenQuote(std::string_view text);

}  // namespace pipeline
