#include "cli/commands/record_printer.h"

namespace pipeline {

void RecordPrinter::Line(std::string_view text) {
  for (std::size_t end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    out_.Write(text.substr(0, end));
    out_.Write("\\n");
    text.remove_prefix(end + 1);
  }
  out_.Write(text);
  out_.Write("\n");
  ++printed_;
}

void RecordPrinter::Object(const Json& record) {
  out_.Write(record.Dump());
  out_.Write("\n");
  ++printed_;
}

}  // namespace pipeline
