// The files below an address of a web server, read only.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "storage/remote/http/http_client.h"
#include "storage/remote/http/retry.h"
#include "storage/store.h"
#include "storage/uri.h"

namespace pipeline {

/// Writing fails with kInvalidArgument, and so does List: HTTP has no listing that a program can read. Object
/// names are inserted between the path of `base` and its query. `client` is shared with the opened files,
/// which may outlive the store; the clock and pause of `means` outlive those files.
std::unique_ptr<Store> NewHttpStore(std::shared_ptr<HttpClient> client, const Uri& base,
                                    const RetryMeans& means = {});

}  // namespace pipeline
