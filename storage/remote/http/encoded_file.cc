#include "storage/remote/http/encoded_file.h"

#include <utility>

#include "base/str.h"
#include "storage/directory.h"
#include "storage/remote/http/checksum_hasher.h"
#include "storage/uri.h"

namespace pipeline {

namespace {

constexpr std::size_t kDecodedPiece = std::size_t{1} << 20;
constexpr std::uint64_t kLookAtDisk = std::uint64_t{64} << 20;  // between two checks of the free space
constexpr std::size_t kMaxCodings = 3;
/// Limit of the decoded size: kMaxRatio times the sent size, plus kFree bytes. No text compresses better than
/// that.
constexpr std::uint64_t kMaxRatio = 1000, kFree = std::uint64_t{64} << 20;
/// Bytes that stay free on the disk, so that a malicious file cannot fill it.
constexpr std::uint64_t kLeftFree = std::uint64_t{256} << 20;
constexpr int kAttempts = 2;  // to download bytes that can be decoded

/// The sums over the bytes that passed a reader.
struct Passed {
  explicit Passed(const std::optional<Checksum>& pin) {
    if (pin) hasher.emplace(pin->kind);
  }
  std::uint64_t bytes = 0;
  std::optional<ChecksumHasher> hasher;
  Status failure;  // of the transfer; it says nothing against the bytes that were decoded before

  void Take(std::string_view piece) {
    bytes += piece.size();
    if (hasher) hasher->Update(piece);
  }
};

class Watched final : public ByteReader {
 public:
  Watched(std::unique_ptr<ByteReader> input, Passed& passed) : input_(std::move(input)), passed_(passed) {}
  Result<std::size_t> Read(std::span<char> out) override {
    Result<std::size_t> got = input_->Read(out);
    if (got.ok())
      passed_.Take({out.data(), *got});
    else
      passed_.failure = got.status();
    return got;
  }

 private:
  const std::unique_ptr<ByteReader> input_;
  Passed& passed_;
};

Result<std::unique_ptr<ByteReader>> Undo(const EncodedFile& file, const std::string& url,
                                         std::string_view coding, std::unique_ptr<ByteReader> sent) {
  std::size_t count = 0;
  while (!coding.empty()) {
    const std::size_t comma = coding.rfind(", ");
    const std::string_view last = comma == std::string_view::npos ? coding : coding.substr(comma + 2);
    if (++count > kMaxCodings)
      return Status(Code::kUnimplemented,
                    StrCat(ShownUrl(url), ": the server sends it encoded more than ", kMaxCodings,
                           " times over, which is not undone; download it"));
    Result<std::unique_ptr<ByteReader>> undone = file.undo(last, std::move(sent));
    if (!undone.ok())
      return Status(undone.status().code(),
                    StrCat(ShownUrl(url), ": the server sends it encoded: ", undone.status().message()));
    sent = std::move(*undone);
    coding = coding.substr(0, comma == std::string_view::npos ? 0 : comma);
  }
  return sent;
}

Status FetchFrom(const EncodedFile& file, const std::string& url, PartFile& part,
                 const std::optional<Checksum>& pin, const std::function<void(std::uint64_t bytes)>& came,
                 const std::stop_token& stop) {
  ASSIGN_OR_RETURN(EncodedTransfer transfer, file.open(url, stop));
  Passed sent(pin), decoded(pin);
  ASSIGN_OR_RETURN(
      const std::unique_ptr<ByteReader> reader,
      Undo(file, url, transfer.coding, std::make_unique<Watched>(std::move(transfer.sent), sent)));
  std::string piece(kDecodedPiece, '\0');
  for (std::uint64_t looked = 0;;) {
    if (stop.stop_requested())
      return Status(Code::kCancelled, StrCat(ShownUrl(url), ": fetching was stopped"));
    const Result<std::size_t> got = reader->Read(piece);
    if (!got.ok() && !sent.failure.ok()) return sent.failure;
    if (!got.ok())
      return Status(Code::kDataLoss,
                    StrCat(ShownUrl(url), ": the server says that it is sent as ", transfer.coding,
                           ", and it cannot be decoded: ", got.status().message()));
    if (*got == 0) break;
    const std::string_view came_now = std::string_view(piece).substr(0, *got);
    decoded.Take(came_now);
    if (decoded.bytes > kFree && (decoded.bytes - kFree) / kMaxRatio > sent.bytes)
      return Status(Code::kFailedPrecondition,
                    StrCat(ShownUrl(url), ": decodes (", transfer.coding, ") to more than ", kMaxRatio,
                           " times its size, which no text does; it is refused"));
    if (decoded.bytes >= looked) {
      looked = decoded.bytes + kLookAtDisk;
      ASSIGN_OR_RETURN(const std::uint64_t left, FreeBytes(ParentDirectory(part.path())));
      if (left < kLeftFree + piece.size())
        return Status(
            Code::kResourceExhausted,
            StrCat(part.path(), ": ", HumanBytes(left), " are free after ", HumanBytes(decoded.bytes), " of ",
                   ShownUrl(url), " were decoded, and nobody knows how large it is; make room"));
    }
    RETURN_IF_ERROR(part.Append(came_now));
    came(part.state().bytes);
  }
  std::string held;
  if (pin) {
    ASSIGN_OR_RETURN(const Checksum of_sent, sent.hasher->Finish());
    ASSIGN_OR_RETURN(const Checksum of_decoded, decoded.hasher->Finish());
    if (of_sent != *pin && of_decoded != *pin)
      return Status(Code::kFailedPrecondition,
                    StrCat(ShownUrl(url), ": is not the file that it is pinned to: ", ToString(*pin),
                           " was wanted; the encoded file (", transfer.coding, ") has ", ToString(of_sent),
                           ", and decoded ", ToString(of_decoded), "; check `checksum` and the address"));
    if (of_decoded != *pin) part.DecodedFrom(ToString(of_sent));
    held =
        StrCat("; its checksum is that of the bytes as they are ", of_decoded == *pin ? "decoded" : "sent");
  }
  if (!transfer.coding.empty())
    file.note(StrCat(ShownUrl(url), ": the server sends it encoded (", transfer.coding, "), ",
                     HumanBytes(sent.bytes), "; it is decoded to ", HumanBytes(decoded.bytes), held));
  return {};
}

}  // namespace

Status EncodedFile::FetchInto(PartFile& part, const std::optional<Checksum>& pin,
                              const std::function<void(std::uint64_t bytes)>& came,
                              const std::stop_token& stop) const {
  Status first;
  for (const std::string& url : urls) {
    Retry attempts(retry);
    int undecodable = 0;
    Status fetched;
    do {
      RETURN_IF_ERROR(part.Empty());
      fetched = FetchFrom(*this, url, part, pin, came, stop);
      if (fetched.ok()) return part.Resize(part.state().bytes);
      RETURN_IF_ERROR(part.Empty());  // also if the part filled the disk
      // The bytes may have been damaged on the way.
      if (fetched.code() == Code::kDataLoss && ++undecodable < kAttempts)
        fetched = {};
      else
        fetched = attempts.Again(std::move(fetched), {}, stop);
    } while (fetched.ok());
    if (fetched.code() == Code::kCancelled || fetched.code() == Code::kResourceExhausted) return fetched;
    if (urls.size() > 1) note(fetched.message());
    if (first.ok()) first = std::move(fetched);
  }
  return first;
}

}  // namespace pipeline
