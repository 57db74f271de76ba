// YAML text as a small tree of our own that knows the place of everything in it. Scalars stay text:
// what `1.0.0`, `true` or `1e3` mean is decided by the key that they are written for.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "spec/mistake.h"

namespace pipeline {

struct YamlEntry;

struct YamlNode {
  enum class Kind : std::uint8_t { kNull, kScalar, kList, kMap };  // kNull: nothing, `~` or `null`

  Kind kind = Kind::kNull;
  FilePosition at;
  std::string text;                // kScalar: without its quotes, escapes resolved, valid UTF-8
  bool quoted = false;             // kScalar: written in quotes, or as a block
  std::vector<YamlNode> items;     // kList
  std::vector<YamlEntry> entries;  // kMap, in the order of the file, each key once

  // What Variables leaves behind when it replaced `text`.
  std::string written;  // the text before; empty where nothing was replaced
  bool secret = false;  // holds a value of the environment, which no message may show
  bool is_set = false;  // --set gave it, or a variable in it, another text than the file
  bool broken = false;  // could not be replaced, which has been reported: there is no value

  bool is_null() const { return kind == Kind::kNull; }
  bool is_scalar() const { return kind == Kind::kScalar; }
  bool is_list() const { return kind == Kind::kList; }
  bool is_map() const { return kind == Kind::kMap; }
  /// Null where this is no map or has no such key.
  const YamlNode* Find(std::string_view key) const;
  YamlNode* Find(std::string_view key);
};

struct YamlEntry {
  std::string key;
  FilePosition key_at;
  YamlNode value;
};

struct ParsedYaml {
  /// Absent when a mistake left nothing to go on with. An empty text is a null.
  std::optional<YamlNode> root;
  /// Text that is not UTF-8, tabs as indentation, syntax, duplicate keys (the first one counts),
  /// tags, a second document, and anything larger than a person would write.
  std::vector<Mistake> mistakes;
};

/// Anchors and aliases are resolved; a copy keeps the positions of the original.
ParsedYaml ParseYaml(std::string_view text);

/// Why `text` may not stand in a pipeline file (not UTF-8, a control character), and the offset of
/// the byte; absent where all is well.
struct BadCharacter {
  std::size_t offset = 0;
  std::string what;
};
std::optional<BadCharacter> FindBadCharacter(std::string_view text);

/// For messages: "a list", "a map", "nothing", or the text of a scalar in quotes, cut when long; a
/// replaced one as it was written and, unless it is secret, what it became.
std::string Describe(const YamlNode& node);

}  // namespace pipeline
