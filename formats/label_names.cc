#include "formats/label_names.h"

#include <algorithm>
#include <set>

#include "base/str.h"
#include "base/words.h"
#include "text/utf8.h"

namespace pipeline {

namespace {

// White space that Python's str.strip removes; TFDS reads names with it.
constexpr std::string_view kSpaces[] = {
    "\t",     "\n",     "\v",     "\f",     "\r",     "\x1C",   "\x1D",   "\x1E",   "\x1F",   " ",
    "\u0085", "\u00A0", "\u1680", "\u2000", "\u2001", "\u2002", "\u2003", "\u2004", "\u2005", "\u2006",
    "\u2007", "\u2008", "\u2009", "\u200A", "\u2028", "\u2029", "\u202F", "\u205F", "\u3000"};

std::string_view Stripped(std::string_view name) {
  for (bool found = true; found;) {
    found = false;
    for (const std::string_view space : kSpaces) {
      if (name.starts_with(space)) name.remove_prefix(space.size()), found = true;
      if (name.ends_with(space)) name.remove_suffix(space.size()), found = true;
    }
  }
  return name;
}

bool IsStripped(std::string_view name) { return Stripped(name).size() == name.size(); }

bool IsControl(char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7F'; }

}  // namespace

Result<std::vector<std::string>> ParseLabelNames(std::string_view text) {
  std::vector<std::string> labels;
  while (!text.empty()) {
    if (const std::string_view name = Stripped(TakeUntil(text, '\n')); !name.empty())
      labels.emplace_back(name);
  }
  RETURN_IF_ERROR(CheckLabelNames(labels));
  return labels;
}

std::string LabelNamesText(const std::vector<std::string>& labels) {
  std::string text;
  for (const std::string& label : labels) text += label + '\n';
  return text;
}

Status CheckLabelNames(const std::vector<std::string>& labels) {
  if (labels.empty())
    return Status(Code::kInvalidArgument, "labels: an empty list; name each label that occurs");
  std::set<std::string_view> seen;
  for (const std::string& label : labels) {
    if (label.empty() || !IsStripped(label) || label.find('\n') != std::string::npos)
      return Status(
          Code::kInvalidArgument,
          StrCat("labels: '", label, "': TensorFlow Datasets keeps a name per line, without white space ",
                 "at its ends; change the label in the input"));
    if (!IsCleanUtf8(label) || std::any_of(label.begin(), label.end(), IsControl))
      return Status(Code::kInvalidArgument,
                    StrCat("labels: '", Printable(label),
                           "': not UTF-8, or a control character in it; is it a file of names?"));
    if (!seen.insert(label).second)
      return Status(Code::kInvalidArgument, StrCat("labels: '", label, "' comes twice"));
  }
  return {};
}

}  // namespace pipeline
