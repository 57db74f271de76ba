// JSON Web Tokens signed with RSA and SHA-256 (RFC 7515, "RS256").
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"
#include "storage/remote/http/secret.h"

namespace pipeline {

/// Base64 of RFC 4648, section 5, without padding.
std::string ToBase64Url(std::string_view bytes);

/// "header.claims.signature". `pem_key`: an unencrypted RSA key in PEM, PKCS#8 or PKCS#1; kInvalidArgument
/// if it is not one, with a message that contains no part of it.
Result<Secret> SignJwt(const Json& header, const Json& claims, const Secret& pem_key);

}  // namespace pipeline
