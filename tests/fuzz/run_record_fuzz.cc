// Any bytes as the record of a run: the page that is made of it is bounded and holds no script but its own.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "cli/report/report_page.h"

namespace pipeline {
namespace {

std::size_t Occurrences(std::string_view page, std::string_view what) {
  std::size_t found = 0;
  for (std::size_t at = page.find(what); at != std::string_view::npos; at = page.find(what, at + 1)) ++found;
  return found;
}

}  // namespace
}  // namespace pipeline

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pipeline;
  const Result<RunRecord> record = ParseRunRecord({reinterpret_cast<const char*>(data), size});
  if (!record.ok()) return 0;
  const std::string page = ReportPage(*record);
  if (page.size() > 2 << 20 || Occurrences(page, "<script") != 2 || Occurrences(page, "</script") != 2)
    std::abort();
  return 0;
}
