#include "stages/decompress.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/str.h"
#include "stages/line_source.h"
#include "stages/utf8_repair.h"

namespace pipeline {

namespace {

constexpr std::int64_t kLeastRecord = 1 << 10;
constexpr std::int64_t kMostRecord = 1 << 30;  // batches count bytes in 32 bits

class Decompress : public SourceStage {
 public:
  Decompress(const LineRules& rules, std::optional<Compression> format, InvalidUtf8 invalid)
      : rules_(rules), format_(format), repair_(invalid) {}

  Result<std::unique_ptr<Source>> Open(SourceRequest request) const override {
    return OpenLineSource(std::move(request), rules_, format_);
  }
  const Transform* repair() const override { return &repair_; }

 private:
  const LineRules rules_;
  const std::optional<Compression> format_;
  const Utf8Repair repair_;
};

Status Check(const Json& config, Schema& schema) {
  const std::int64_t record = config["max_record_bytes"].AsInt();
  if (record < kLeastRecord || record > kMostRecord)
    return Status(Code::kInvalidArgument, "max_record_bytes: must be from 1KiB to 1GiB");
  for (const std::string_view key : {"partition", "max_document_bytes"})
    if (config[key].AsInt() < 1) return Status(Code::kInvalidArgument, StrCat(key, ": must be at least 1"));
  schema.columns["text"] = ColumnType::kUtf8;
  return {};
}

Result<std::unique_ptr<SourceStage>> Make(const StageContext& context) {
  const Json& config = context.config;
  LineRules rules;
  rules.documents = config["documents"].AsString() == "line" ? Documents::kLine : Documents::kBlankLine;
  rules.partition_bytes = static_cast<std::uint64_t>(config["partition"].AsInt());
  rules.max_document_bytes = static_cast<std::uint64_t>(config["max_document_bytes"].AsInt());
  rules.max_record_bytes = static_cast<std::size_t>(config["max_record_bytes"].AsInt());
  const std::string_view on_long = config["on_long"].AsString();
  rules.on_long = on_long == "fail"         ? OnLong::kFail
                  : on_long == "quarantine" ? OnLong::kQuarantine
                                            : OnLong::kSplit;
  const std::string_view invalid = config["invalid_utf8"].AsString();
  const InvalidUtf8 policy = invalid == "fail"         ? InvalidUtf8::kFail
                             : invalid == "quarantine" ? InvalidUtf8::kQuarantine
                                                       : InvalidUtf8::kReplace;
  std::optional<Compression> format;
  for (const Compression one :
       {Compression::kPlain, Compression::kXz, Compression::kZstd, Compression::kGzip})
    if (config["format"].AsString() == CompressionName(one)) format = one;
  return std::unique_ptr<SourceStage>(std::make_unique<Decompress>(rules, format, policy));
}

}  // namespace

StageType DecompressType() {
  StageType type;
  type.name = "decompress";
  type.help = "Reads text files, compressed or not, as records of one line each.";
  type.takes = Flow::kFiles;
  type.gives = Flow::kRecords;
  type.keys = {
      {"format",
       ValueType::kChoice,
       "auto",
       Effect::kBytes,
       "How the files are compressed; `auto` looks at their first bytes.",
       {"auto", "xz", "zstd", "gzip", "plain"}},
      {"documents",
       ValueType::kChoice,
       "blank_line",
       Effect::kBytes,
       "What ends a document: a blank line, or the end of each line.",
       {"blank_line", "line"}},
      {"partition", ValueType::kBytes, "64MiB", Effect::kBytes,
       "Bytes of text after which a partition closes, at the next end of a document."},
      {"max_document_bytes", ValueType::kBytes, "64MiB", Effect::kBytes,
       "Bytes of one document after which a partition closes inside it."},
      {"max_record_bytes", ValueType::kBytes, "8MiB", Effect::kBytes,
       "The longest line that becomes one record."},
      {"on_long",
       ValueType::kChoice,
       "split",
       Effect::kBytes,
       "What becomes of a longer line: split at a sentence end, set aside, or a failure.",
       {"split", "quarantine", "fail"}},
      {"invalid_utf8",
       ValueType::kChoice,
       "replace",
       Effect::kBytes,
       "What becomes of a line with invalid UTF-8 or NUL: repaired with U+FFFD, set aside, or a failure.",
       {"replace", "quarantine", "fail"}},
  };
  type.check = Check;
  type.make = SourceFactory(Make);
  return type;
}

}  // namespace pipeline
