#include "formats/content_coding.h"

#include <string>
#include <utility>

#include "base/str.h"
#include "formats/brotli_reader.h"
#include "formats/gzip_deflate_reader.h"
#include "formats/gzip_reader.h"
#include "formats/zstd_reader.h"

namespace pipeline {

Result<std::unique_ptr<ByteReader>> NewContentDecoder(std::string_view coding,
                                                      std::unique_ptr<ByteReader> sent) {
  if (coding == "gzip") return NewGzipReader(std::move(sent));
  if (coding == "deflate") return NewDeflateReader(std::move(sent));
  if (coding == "br") return NewBrotliReader(std::move(sent));
  if (coding == "zstd") return NewZstdReader(std::move(sent));
  return Status(Code::kUnimplemented, StrCat("'", std::string(coding.substr(0, 40)),
                                             "' is none of gzip, deflate, br and zstd; download it, or find "
                                             "another server"));
}

}  // namespace pipeline
