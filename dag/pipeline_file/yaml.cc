#include "dag/pipeline_file/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <sstream>
#include <tuple>

#include "base/json.h"
#include "base/utf8.h"

namespace pipeline {

namespace {

// A pipeline of a hundred stages stays far below these limits; a larger file is a wrong file or an attack.
constexpr std::size_t kMaxBytes = 1 << 20;
constexpr std::size_t kMaxNodes = 10000;
constexpr std::size_t kMaxDepth = 32;

/// Turns byte offsets into lines and columns.
class LineMap {
 public:
  explicit LineMap(std::string_view text) : text_(text), starts_{0} {
    for (std::size_t i = 0; i < text.size(); ++i)
      if (text[i] == '\n') starts_.push_back(i + 1);
  }
  FilePosition At(std::size_t offset) const {
    offset = std::min(offset, text_.size());
    const auto line = std::upper_bound(starts_.begin(), starts_.end(), offset) - 1;
    int column = 1;
    for (std::size_t i = *line; i < offset; ++i)
      if ((static_cast<unsigned char>(text_[i]) & 0xC0) != 0x80) ++column;
    return {static_cast<int>(line - starts_.begin()) + 1, column};
  }

 private:
  std::string_view text_;
  std::vector<std::size_t> starts_;
};

/// Returns the offset of the first tab that indents something. YAML forbids it, but the parser below does not
/// always notice it and then takes the line for a continuation of the one before.
std::optional<std::size_t> FindIndentingTab(std::string_view text) {
  for (std::size_t line = 0; line < text.size();) {
    const std::size_t first = text.find_first_not_of(" \t", line);
    if (first == std::string_view::npos) break;
    const std::size_t tab = text.find('\t', line);
    const bool blank = text[first] == '\n' || text[first] == '\r' || text[first] == '#';
    if (tab < first && !blank) return tab;
    const std::size_t end = text.find('\n', first);
    if (end == std::string_view::npos) break;
    line = end + 1;
  }
  return std::nullopt;
}

std::size_t CountNodes(const YamlNode& node) {
  std::size_t count = 1;
  for (const YamlNode& item : node.items) count += CountNodes(item);
  for (const YamlEntry& entry : node.entries) count += CountNodes(entry.value) + 1;
  return count;
}

/// Returns what a person does who meant the text at the front of `rest`; empty: YAML reads it as a text.
std::string WantsQuotes(std::string_view rest) {
  if (rest.empty() || std::string_view("*&!%@`").find(rest.front()) == std::string_view::npos) return {};
  return StrCat("; a text that begins with ", rest.front(), " wants quotes: \"",
                rest.substr(0, rest.find_first_of(" \t\r\n,]}")), "\"");
}

/// Thrown to end the parsing; never leaves this file.
struct Stop {
  Mistake mistake;
};

class TreeBuilder final : public YAML::EventHandler {
 public:
  TreeBuilder(std::string_view text, const LineMap& lines, std::vector<Mistake>& mistakes)
      : text_(text), lines_(lines), mistakes_(mistakes) {}

  YamlNode TakeRoot() { return std::move(root_); }

  FilePosition At(const YAML::Mark& mark) const { return lines_.At(OffsetOf(mark)); }
  /// The text from the word on that `mark` is in or behind.
  std::string_view From(const YAML::Mark& mark) const {
    const std::size_t before = text_.substr(0, OffsetOf(mark)).find_last_of(" \t\r\n[{,");
    return text_.substr(before == std::string_view::npos ? 0 : before + 1);
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1)
      Fail(At(mark), "a second YAML document begins here: a pipeline file is one document");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    YamlNode node = NewNode(YamlNode::Kind::kNull, mark);
    if (anchor != 0 || From(mark).starts_with('!'))
      mistakes_.push_back({node.at, StrCat("an anchor or a tag without a value", WantsQuotes(From(mark)))});
    Put(std::move(node), anchor);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    YamlNode node = NewNode(YamlNode::Kind::kScalar, mark);
    CheckTag(mark, tag);
    node.text = value;
    node.quoted = tag == "!";  // the parser's tag of a scalar in quotes without a tag
    Put(std::move(node), anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) Fail(At(mark), "this alias is inside the value that it refers to");
    Count(CountNodes(found->second), At(mark));
    Put(found->second, 0);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Open(YamlNode::Kind::kList, mark, tag, anchor);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Open(YamlNode::Kind::kMap, mark, tag, anchor);
  }
  void OnMapEnd() override { Close(); }

 private:
  struct Container {
    YamlNode node;
    YAML::anchor_t anchor = 0;
    std::optional<YamlNode> key;  // a map's key that waits for its value
  };

  [[noreturn]] static void Fail(FilePosition at, std::string message) {
    throw Stop{{at, std::move(message)}};
  }
  void CheckTag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    mistakes_.push_back({At(mark), StrCat("tags ('!...') have no meaning in a pipeline file: leave it out",
                                          WantsQuotes(From(mark)))});
  }
  void Count(std::size_t nodes, FilePosition at) {
    nodes_ += nodes;
    if (nodes_ > kMaxNodes)
      Fail(at, StrCat("a pipeline file has at most ", kMaxNodes,
                      " values, and an alias counts as the values that it repeats"));
  }
  YamlNode NewNode(YamlNode::Kind kind, const YAML::Mark& mark) {
    YamlNode node;
    node.kind = kind;
    node.at = At(mark);
    Count(1, node.at);
    return node;
  }
  void Open(YamlNode::Kind kind, const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    YamlNode node = NewNode(kind, mark);
    CheckTag(mark, tag);
    if (open_.size() >= kMaxDepth) Fail(node.at, StrCat("nested deeper than ", kMaxDepth, " levels"));
    open_.push_back({std::move(node), anchor, std::nullopt});
  }
  void Close() {
    Container done = std::move(open_.back());
    open_.pop_back();
    Put(std::move(done.node), done.anchor);
  }
  void Put(YamlNode node, YAML::anchor_t anchor) {
    if (anchor != 0) anchors_.insert_or_assign(anchor, node);
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Container& parent = open_.back();
    if (parent.node.is_list()) {
      parent.node.items.push_back(std::move(node));
    } else if (!parent.key) {
      if (!node.is_scalar()) Fail(node.at, StrCat("a key must be a word, and this is ", Describe(node)));
      parent.key = std::move(node);
    } else {
      AddEntry(parent, std::move(node));
    }
  }
  void AddEntry(Container& parent, YamlNode value) {
    YamlNode key = std::move(*parent.key);
    parent.key.reset();
    if (value.is_null()) value.at = key.at;  // an empty value has no position of its own
    for (const YamlEntry& entry : parent.node.entries) {
      if (entry.key != key.text) continue;
      mistakes_.push_back({key.at, StrCat("duplicate key ", Describe(key), ": it stands on line ",
                                          entry.key_at.line, " already")});
      return;
    }
    parent.node.entries.push_back({std::move(key.text), key.at, std::move(value)});
  }

  std::size_t OffsetOf(const YAML::Mark& mark) const {
    return std::min(static_cast<std::size_t>(std::max(mark.pos, 0)), text_.size());
  }

  const std::string_view text_;
  const LineMap& lines_;
  std::vector<Mistake>& mistakes_;
  YamlNode root_;
  std::vector<Container> open_;
  std::map<YAML::anchor_t, YamlNode> anchors_;
  std::size_t nodes_ = 0;
  int documents_ = 0;
};

Mistake NeverClosed(std::string_view text, const LineMap& lines, const OpenQuote& quote) {
  return {lines.At(quote.opens),
          StrCat("the quote ", text.substr(quote.opens, 1), " that opens here is never closed")};
}

/// A line that is not blank and no comment.
struct TextLine {
  int number = 0;
  std::size_t indent = 0;
  std::string_view text;  // behind the indentation, without a comment
};

std::vector<TextLine> TextLines(std::string_view text) {
  std::vector<TextLine> found;
  int number = 0;
  while (!text.empty()) {
    const std::size_t newline = text.find('\n');
    std::string_view line = text.substr(0, newline);
    text = newline == text.npos ? std::string_view() : text.substr(newline + 1);
    ++number;
    line = line.substr(0, std::min(line.find(" #"), line.size()));
    while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.remove_suffix(1);
    const std::size_t indent = line.find_first_not_of(' ');
    if (indent != line.npos && line[indent] != '#') found.push_back({number, indent, line.substr(indent)});
  }
  return found;
}

std::string Spaces(std::size_t count) { return StrCat(count, count == 1 ? " space" : " spaces"); }

/// Returns whether a line is "KEY:VALUE", which YAML takes for a word. `key`: receives KEY.
bool LacksSpace(std::string_view line, std::string_view& key) {
  key = line.substr(
      0, line.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"));
  return !key.empty() && key.size() + 1 < line.size() && line[key.size()] == ':' &&
         line[key.size() + 1] != ' ' && !line.substr(key.size()).starts_with("://");
}

/// Returns the mistake of the line `at`, if it is one of the usual ones: the parser names their consequences.
std::optional<Mistake> UsualMistake(std::string_view text, FilePosition at) {
  std::vector<std::size_t> open;  // the indentations that enclose the line
  const TextLine* before = nullptr;
  const std::vector<TextLine> lines = TextLines(text);
  for (const TextLine& line : lines) {
    if (line.number > at.line) break;
    const bool near = line.number == at.line || before == nullptr || line.number + 1 >= at.line;
    if (std::string_view key; near && LacksSpace(line.text, key))
      return Mistake{{line.number, static_cast<int>(line.indent + key.size()) + 1},
                     StrCat("a space is missing behind the colon of '", key, "'")};
    while (!open.empty() && open.back() > line.indent) open.pop_back();
    const bool known = !open.empty() && open.back() == line.indent;
    const bool deeper = before == nullptr || line.indent > before->indent;
    if (line.number == at.line && before != nullptr && !known) {
      const FilePosition here{line.number, static_cast<int>(line.indent) + 1};
      const bool holds = before->text.ends_with(':') || before->text.starts_with("- ");
      if (deeper && !holds)
        return Mistake{here, StrCat("this line is indented by ", Spaces(line.indent), ", and line ",
                                    before->number, ", which has its value already, by ", before->indent,
                                    ": keys of one map begin in one column")};
      if (!deeper)
        return Mistake{here,
                       StrCat("this line is indented by ", Spaces(line.indent), ", and line ", before->number,
                              " by ", before->indent, ": keys of one map begin in one column")};
    }
    if (!known) open.push_back(line.indent);
    before = &line;
  }
  return std::nullopt;
}

/// Returns the mistake that the parser found at `at`, or the quote before it that is its cause.
Mistake NotYaml(std::string_view text, const LineMap& lines, FilePosition at, std::string_view why) {
  const std::optional<OpenQuote> quote = FindOpenQuote(text);
  const FilePosition opens = quote ? lines.At(quote->opens) : FilePosition();
  if (!quote || std::tie(at.line, at.column) < std::tie(opens.line, opens.column))
    return UsualMistake(text, at).value_or(Mistake{at, StrCat("not YAML: ", why)});
  const std::string_view mark = text.substr(quote->opens, 1);
  if (!quote->closes) return NeverClosed(text, lines, *quote);
  const FilePosition closes = lines.At(*quote->closes);
  if (closes.line > opens.line)
    return {opens, StrCat("the quote ", mark, " that opens here is closed on line ", closes.line,
                          " only, where another was meant to open: close it where its text ends")};
  return {closes,
          StrCat("text follows the quote ", mark, " that closes here: a quote inside a text is written ",
                 mark == "'" ? "''" : "\\\"")};
}

}  // namespace

const YamlNode* YamlNode::Find(std::string_view key) const {
  for (const YamlEntry& entry : entries)
    if (entry.key == key) return &entry.value;
  return nullptr;
}

YamlNode* YamlNode::Find(std::string_view key) {
  return const_cast<YamlNode*>(std::as_const(*this).Find(key));
}

std::optional<BadCharacter> FindBadCharacter(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const std::size_t length = Utf8CharacterBytes(text.substr(i));
    std::array<char, 8> hex{};
    std::snprintf(hex.data(), hex.size(), "%02X", static_cast<unsigned>(byte));
    if (length == 0) return BadCharacter{i, StrCat("byte 0x", hex.data(), " is not UTF-8")};
    if ((byte < 0x20 && byte != '\t' && byte != '\n' && byte != '\r') || byte == 0x7F)
      return BadCharacter{i, StrCat("control character U+00", hex.data())};
    i += length;
  }
  return std::nullopt;
}

ParsedYaml ParseYaml(std::string_view text) {
  ParsedYaml parsed;
  if (text.size() > kMaxBytes) {
    parsed.mistakes.push_back({{1, 1},
                               StrCat("this is ", HumanBytes(text.size()), ", and a pipeline file at most ",
                                      HumanBytes(kMaxBytes), ": is it the right file?")});
    return parsed;
  }
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.substr(0, kByteOrderMark.size()) == kByteOrderMark) text.remove_prefix(kByteOrderMark.size());
  const LineMap lines(text);
  if (const auto bad = FindBadCharacter(text)) {
    parsed.mistakes.push_back({lines.At(bad->offset), StrCat(bad->what, ": a pipeline file is UTF-8 text")});
    return parsed;
  }
  if (const auto tab = FindIndentingTab(text)) {
    parsed.mistakes.push_back({lines.At(*tab), "a tab in the indentation: YAML wants spaces"});
    return parsed;
  }

  TreeBuilder builder(text, lines, parsed.mistakes);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    while (parser.HandleNextDocument(builder)) {
    }
    parsed.root = builder.TakeRoot();
    if (parsed.root->at.line == 0) parsed.root->at = {1, 1};
    if (parsed.root->is_null() && text.starts_with('%'))
      parsed.mistakes.push_back({{1, 1}, StrCat("a directive without a document", WantsQuotes(text))});
    // The parser accepts the end of the file as the end of a quoted text.
    if (const auto quote = FindOpenQuote(text); quote && !quote->closes)
      parsed.mistakes.push_back(NeverClosed(text, lines, *quote));
  } catch (const Stop& stop) {
    parsed.mistakes.push_back(stop.mistake);
  } catch (const YAML::Exception& error) {
    parsed.mistakes.push_back(NotYaml(text, lines, builder.At(error.mark),
                                      StrCat(error.msg, WantsQuotes(builder.From(error.mark)))));
  } catch (const std::exception& error) {
    parsed.mistakes.push_back({{1, 1}, StrCat("not YAML: ", error.what())});
  }
  return parsed;
}

std::string Describe(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull: return "nothing";
    case YamlNode::Kind::kList: return "a list";
    case YamlNode::Kind::kMap: return "a map";
    case YamlNode::Kind::kScalar: break;
  }
  const auto quote = [](std::string_view text) {
    constexpr std::size_t kShown = 60;
    std::size_t shown = std::min(text.size(), kShown);
    while (shown < text.size() && shown > 0 && (static_cast<unsigned char>(text[shown]) & 0xC0) == 0x80)
      --shown;
    std::string quoted;
    AppendJsonString(quoted, StrCat(text.substr(0, shown), shown < text.size() ? "..." : ""));
    return quoted;
  };
  if (node.written.empty()) return quote(node.text);
  if (node.secret) return quote(node.written);
  return StrCat(quote(node.written), " (", quote(node.text), ")");
}

}  // namespace pipeline
