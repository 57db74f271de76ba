#include "stages/lines/exec_line.h"

#include "base/json.h"
#include "base/str.h"

namespace pipeline {

namespace {

constexpr std::string_view kMember = "text";

}  // namespace

Status AppendExecLine(ExecFraming framing, std::string_view text, std::string& out) {
  if (framing == ExecFraming::kJson) {
    out += "{\"text\":";
    AppendJsonString(out, text);
    out += "}\n";
    return {};
  }
  if (text.find('\n') != std::string_view::npos)
    return Status(Code::kInvalidArgument, "holds a line end and cannot be a line; use `framing: json`");
  out.append(text).push_back('\n');
  return {};
}

Status ReadExecLine(ExecFraming framing, std::string_view line, std::string& text) {
  if (framing == ExecFraming::kLines) {
    text = line;
    return {};
  }
  const Result<Json> json = Json::Parse(line);
  if (!json.ok()) return Status(Code::kInvalidArgument, StrCat("is not JSON: ", json.status().message()));
  const Json& member = (*json)[kMember];
  if (!member.is_string()) return Status(Code::kInvalidArgument, "is no JSON object with a member \"text\"");
  text = member.AsString();
  return {};
}

}  // namespace pipeline
