// Interface to the locations of one remote scheme. storage/remote/README.md says what a new scheme
// implements.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "storage/remote/http/encoded_file.h"
#include "storage/remote/http/environment.h"
#include "storage/remote/http/retry.h"
#include "storage/remote/scheme/remote_file.h"
#include "storage/store.h"
#include "storage/uri.h"

namespace pipeline {

struct StoreOptions {
  std::string spool = {};  // directory for uploads to a bucket; empty: OwnSpool of the environment
  RetryMeans means = {};   // for requests to buckets; its clock and pause outlive the stores
  EnvironmentLookup environment = ProcessEnvironment();
};

/// An object of a bucket, in the state in which it was found.
struct RemoteObject {
  std::string name;  // in the bucket
  std::uint64_t size = 0;
  std::optional<std::uint32_t> crc32c;  // absent: the store keeps none
  std::function<RemoteFile()> open;     // sends no request; may be called after the opener is gone

  /// Other programs mark a directory by an empty object with a slash at its end.
  bool MarksDirectory() const { return size == 0 && name.back() == '/'; }
};
struct RemotePage {
  std::vector<RemoteObject> objects;
  std::vector<std::string> prefixes;  // of a list by level: common prefixes that end in a slash
};

/// Opens stores and files that share connections, an identity and its token. Safe from any thread. Stores
/// and files may outlive it.
class RemoteOpener {
 public:
  virtual ~RemoteOpener() = default;

  /// Finds what each request needs, such as credentials; a message names no location. The other methods
  /// call it themselves.
  virtual Status Prepare() { return {}; }
  /// Makes what this machine needs for writing to a location, such as a spool.
  virtual Status PrepareToWrite() { return {}; }
  /// Ends the uploads that dead processes of this machine left open in the spool of StoreOptions, and removes
  /// what they spooled. Sends no request if there are none. By default: there are none.
  virtual Status EndLeftUploads() { return {}; }
  /// The store at `location`. Its existence and permissions are checked at the first use. If the scheme is
  /// not writable, the methods of the store that write fail with kInvalidArgument and the reason.
  virtual Result<std::unique_ptr<Store>> OpenStore(const Uri& location) = 0;
  /// The current file at `location`; kNotFound, or another error of the server. By default the result of
  /// FindObject.
  virtual Result<RemoteFile> OpenFile(const Uri& location, const RemoteAsk& ask, std::stop_token stop);
  /// Makes one attempt to get the whole file, with any encoding that the server likes. `wanted`: the
  /// metadata at planning time, kDataLoss if it changed; null: not checked. By default kInvalidArgument: no
  /// OpenFile of this scheme fails with EncodedBody.
  virtual Result<EncodedTransfer> OpenEncoded(const std::string& url, const RemoteAsk& ask,
                                              const HttpFacts* wanted, std::stop_token stop);

  // Only for a scheme that lists.

  /// kInvalidArgument: no bucket can have an object of this name. By default as CheckObjectName.
  virtual Status CheckName(std::string_view name) const;
  /// Absent: there is no such object. A missing bucket is an error.
  virtual Result<std::optional<RemoteObject>> FindObject(const Uri& location, std::stop_token stop);
  /// Calls `visit` with each page of the objects of `bucket` whose names begin with `prefix`; the names of
  /// a page come after those of the pages before. `by_level`: objects below the next slash are reported as
  /// their common prefix.
  virtual Status ListPages(const std::string& bucket, std::string_view prefix, bool by_level,
                           const std::function<Status(RemotePage)>& visit, std::stop_token stop);
};

}  // namespace pipeline
