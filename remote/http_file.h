// One file on a web server, read from any offset.
#pragma once

#include <memory>
#include <string>

#include "remote/http_client.h"
#include "remote/http_facts.h"
#include "remote/ranged_file.h"

namespace pipeline {

/// Immutable. A reader whose transfer breaks asks for the rest and goes on, as long as the server names the
/// file by the same ETag or Last-Modified; else it fails with kDataLoss.
class HttpFile final : public RangedFile {
 public:
  using RangedFile::Open;
  /// Asks the server; fails as AskFacts does. The client is shared with whoever else asks servers; clock and
  /// pause of `means` outlive the file.
  /// kFailedPrecondition with EncodedBody where it cannot be had as it is stored.
  static Result<std::unique_ptr<HttpFile>> Open(std::shared_ptr<HttpClient> client, std::string url,
                                                const HttpMeans& means = {}, std::stop_token stop = {});
  /// One whose bytes somebody checks at its end, and so as good as they are: nobody is asked before the first
  /// read, and neither ETag nor Last-Modified is looked at. Where it turns out not to have `size` bytes,
  /// readers fail with kFailedPrecondition and OtherSize.
  static std::unique_ptr<HttpFile> Pinned(std::shared_ptr<HttpClient> client, std::string url,
                                          std::uint64_t size, const HttpMeans& means);

  std::uint64_t size() const override { return facts_.size; }
  /// Nothing is asked before the first read.
  Result<std::unique_ptr<ByteReader>> OpenRange(std::uint64_t begin, std::uint64_t end,
                                                std::stop_token stop) const override;

  const HttpFacts& facts() const { return facts_; }
  const std::string& url() const { return url_; }  // with its secrets, if any

 private:
  class Reader;
  HttpFile(std::shared_ptr<HttpClient> client, std::string url, HttpFacts facts, bool is_pinned,
           const HttpMeans& means)
      : client_(std::move(client)),
        url_(std::move(url)),
        facts_(std::move(facts)),
        is_pinned_(is_pinned),
        means_(means) {}

  const std::shared_ptr<HttpClient> client_;
  const std::string url_;
  const HttpFacts facts_;
  const bool is_pinned_;
  const HttpMeans means_;
};

}  // namespace pipeline
