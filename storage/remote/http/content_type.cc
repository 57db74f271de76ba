#include "storage/remote/http/http_text.h"

namespace pipeline {

namespace {

struct KnownType {
  std::string_view ending;
  std::string_view type;
};

constexpr KnownType kTypes[] = {
    {".json", "application/json"},
    {".jsonl", "application/jsonl"},
    {".yaml", "application/yaml"},
    {".yml", "application/yaml"},
    {".txt", "text/plain; charset=utf-8"},
    {".log", "text/plain; charset=utf-8"},
    {".vocab", "text/plain; charset=utf-8"},
    {".md", "text/markdown; charset=utf-8"},
    {".csv", "text/csv; charset=utf-8"},
    {".tsv", "text/tab-separated-values; charset=utf-8"},
    {".html", "text/html; charset=utf-8"},
    {".svg", "image/svg+xml"},
    {".png", "image/png"},
    {".pdf", "application/pdf"},
    {".gz", "application/gzip"},
    {".zst", "application/zstd"},
    {".zip", "application/zip"},
    {".tar", "application/x-tar"},
    {".parquet", "application/vnd.apache.parquet"},
};

}  // namespace

std::string_view ContentTypeOf(std::string_view name) {
  const std::string_view last = name.substr(name.rfind('/') + 1);
  for (const KnownType& known : kTypes)
    if (last.size() > known.ending.size() && last.substr(last.size() - known.ending.size()) == known.ending)
      return known.type;
  return "application/octet-stream";
}

}  // namespace pipeline
