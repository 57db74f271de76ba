#include "formats/known_format.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <string>

#include "base/crc32c.h"
#include "base/str.h"
#include "formats/compression.h"

namespace pipeline {

namespace {

using namespace std::string_view_literals;

// Remedies for the messages.
constexpr std::string_view kTable =
    "write its text column as JSON Lines and read that with read_rows, or leave it out";
constexpr std::string_view kDocument = "convert it to plain text first, or leave it out";
constexpr std::string_view kUnpack = "unpack it first";
constexpr std::string_view kNoText = "it holds no text: leave it out";
constexpr std::string_view kOfMac =
    "it holds no text: leave it out; tar --exclude='._*', or zip -x '*._*' '__MACOSX*', packs an archive "
    "without such files";
constexpr std::string_view kMarkup =
    "take the text out of it first, or set content: text to read its lines as they are";

constexpr KnownFormat Packed(std::string_view name) { return {name, kUnpack, false, true}; }

struct Magic {
  std::string_view bytes;
  KnownFormat format;
  /// The number of bytes before the magic.
  std::size_t offset = 0;
};

constexpr std::array kMagics = {
    Magic{"%PDF-"sv, {"a PDF document", kDocument}},
    Magic{"%!PS"sv, {"a PostScript document", kDocument}},
    Magic{"{\\rtf"sv, {"an RTF document", kDocument}},
    Magic{"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1"sv, {"an old Office or Hangul document (OLE)", kDocument}},
    Magic{"ARROW1\0\0"sv, {"an Arrow file", kTable}},
    Magic{"Obj\x01"sv, {"an Avro file", kTable}},
    Magic{"SQLite format 3\0"sv, {"an SQLite database", kTable}},
    Magic{"\x89HDF\r\n\x1A\n"sv, {"an HDF5 file", kTable}},
    Magic{"\x93NUMPY"sv, {"an array of numpy (npy)", kNoText}},
    Magic{"\x80\x04\x95"sv, {"a pickle of Python", kTable}},
    Magic{"\x80\x05\x95"sv, {"a pickle of Python", kTable}},
    Magic{"\x80\x02}q\0"sv, {"a pickle of Python", kTable}},
    Magic{"\x80\x02]q\0"sv, {"a pickle of Python", kTable}},
    Magic{"\x80\x03}q\0"sv, {"a pickle of Python", kTable}},
    Magic{"\x80\x03]q\0"sv, {"a pickle of Python", kTable}},
    Magic{"\x83\xAF\x70\xD1\x0D\x88\x4A\x3F"sv, {"a Riegeli file (ArrayRecord)", kTable}},
    Magic{"\x83\xAF\x70\xD1\x0D\x88\x4A\x3F"sv, {"a Riegeli file (ArrayRecord)", kTable}, 64},
    Magic{"\x7F"
          "ELF"sv,
          {"an ELF program or library", kNoText}},
    Magic{"\xCF\xFA\xED\xFE"sv, {"a Mach-O program", kNoText}},
    Magic{"\xCE\xFA\xED\xFE"sv, {"a Mach-O program", kNoText}},
    Magic{"\xFE\xED\xFA\xCE"sv, {"a Mach-O program", kNoText}},
    Magic{"\xFE\xED\xFA\xCF"sv, {"a Mach-O program", kNoText}},
    Magic{"\xCA\xFE\xBA\xBE"sv, {"a Java class or a Mach-O program", kNoText}},
    Magic{"\0asm"sv, {"a WebAssembly program", kNoText}},
    Magic{"\x89PNG\r\n\x1A\n"sv, {"a PNG image", kNoText}},
    Magic{"\xFF\xD8\xFF"sv, {"a JPEG image", kNoText}},
    Magic{"GIF87a"sv, {"a GIF image", kNoText}},
    Magic{"GIF89a"sv, {"a GIF image", kNoText}},
    Magic{"II*\0"sv, {"a TIFF image", kNoText}},
    Magic{"MM\0*"sv, {"a TIFF image", kNoText}},
    Magic{"WEBP"sv, {"a WebP image", kNoText}, 8},
    Magic{"WAVE"sv, {"WAVE sound", kNoText}, 8},
    Magic{"AVI "sv, {"AVI video", kNoText}, 8},
    Magic{"OggS\0"sv, {"Ogg sound", kNoText}},
    Magic{"fLaC\0"sv, {"FLAC sound", kNoText}},
    Magic{"ftyp"sv, {"MP4 video or sound", kNoText}, 4},
    Magic{"\x1A\x45\xDF\xA3"sv, {"Matroska or WebM video", kNoText}},
    Magic{"Rar!\x1A\x07"sv, Packed("a RAR archive")},
    Magic{"7z\xBC\xAF\x27\x1C"sv, Packed("a 7z archive")},
    Magic{"ALZ\x01"sv, Packed("an ALZ archive")},
    Magic{"LZIP\x00"sv, Packed("lzip data")},
    Magic{"LZIP\x01"sv, Packed("lzip data")},
    Magic{"\x89LZO\0\r\n\x1A\n"sv, Packed("lzop data")},
    Magic{"\xFF\x06\0\0sNaPpY"sv, Packed("framed snappy data")},
    Magic{"\x02\x21\x4C\x18"sv, Packed("legacy lz4 data")},
    Magic{"\x5D\x00\x00"sv, Packed("lzma data")},
    Magic{"!<arch>\n"sv, Packed("an ar archive (.a, .deb)")},
    Magic{"MSCF\0\0\0\0"sv, Packed("a cabinet archive (.cab)")},
    Magic{"xar!"sv, Packed("a xar archive (.pkg)")},
    Magic{"\xED\xAB\xEE\xDB"sv, Packed("an RPM package")},
    Magic{"\x00\x05\x16\x07"sv, {"a file that macOS keeps beside another (._NAME)", kOfMac}},
};

constexpr KnownFormat kJsonLines = {"JSON Lines",
                                    "read it with read_rows, `format: jsonl` and `text: COLUMN`, or set "
                                    "content: text to take the lines as they are",
                                    true};
constexpr KnownFormat kMediaWiki = {"a MediaWiki dump", kMarkup, true};

/// Returns whether neither ASCII text nor ISO-2022-JP has this byte.
bool IsNoAscii(char byte) {
  const auto number = static_cast<unsigned char>(byte);
  return number >= 0x80 || (number < 0x20 && byte != '\t' && byte != '\n' && byte != '\r' && byte != '\x1B');
}

bool IsNoAsciiAt(std::string_view front, std::size_t at) { return at < front.size() && IsNoAscii(front[at]); }

/// Returns whether small numbers follow "ORC", as in the first stream of the first stripe.
bool IsOrc(std::string_view front) {
  constexpr std::size_t kLookAt = 16;
  if (!front.starts_with("ORC")) return false;
  const std::string_view stream = front.substr(3, kLookAt);
  return std::any_of(stream.begin(), stream.end(),
                     [](char byte) { return static_cast<unsigned char>(byte) < 0x80 && IsNoAscii(byte); });
}

std::uint64_t LittleEndian(std::string_view bytes) {
  std::uint64_t number = 0;
  for (std::size_t at = bytes.size(); at > 0; --at)
    number = number << 8 | static_cast<unsigned char>(bytes[at - 1]);
  return number;
}

bool IsTfRecord(std::string_view front) {
  if (front.size() < 12) return false;
  return LittleEndian(front.substr(8, 4)) == MaskCrc32c(Crc32c(front.substr(0, 8)));
}

bool IsProgramOfWindows(std::string_view front) {
  if (!front.starts_with("MZ") || front.size() < 64) return false;
  const std::uint64_t header = LittleEndian(front.substr(60, 4));
  if (header <= front.size() && front.substr(header).starts_with("PE\0\0"sv)) return true;
  return std::count(front.begin(), front.begin() + 64, '\0') >= 16;
}

/// Returns whether these are flags of compress(1): the longest code has from 9 to 16 bits, and two unused
/// flags are 0.
bool IsCompress(std::string_view front) {
  if (front.size() < 3 || !front.starts_with("\x1F\x9D"sv)) return false;
  const auto flags = static_cast<unsigned char>(front[2]);
  return (flags & 0x60) == 0 && (flags & 0x1F) >= 9 && (flags & 0x1F) <= 16;
}

bool IsCpio(std::string_view front) {
  if (front.size() < 110 || (!front.starts_with("070701") && !front.starts_with("070702"))) return false;
  return front.substr(0, 110).find_first_not_of("0123456789abcdefABCDEF") == std::string_view::npos;
}

/// Returns whether a version of at most `most` follows the name.
bool IsVersioned(std::string_view front, std::string_view name, unsigned char most) {
  return front.size() > name.size() && front.starts_with(name) &&
         static_cast<unsigned char>(front[name.size()]) <= most;
}

std::optional<KnownFormat> OfZip(std::string_view front) {
  constexpr std::size_t kNameSize = 26, kName = 30;
  if (front.size() < kName || !front.starts_with("PK\x03\x04")) return std::nullopt;
  const std::string_view name = front.substr(kName, LittleEndian(front.substr(kNameSize, 2)));
  if (name == "[Content_Types].xml" || name.starts_with("_rels/"))
    return KnownFormat{"an Office document", kDocument};
  if (name == "mimetype" && front.substr(kName + name.size()).starts_with("application/hwp+zip"))
    return KnownFormat{"a Hangul document (HWPX)", kDocument};
  if (name == "mimetype") return KnownFormat{"an OpenDocument or EPUB document", kDocument};
  if (name.starts_with("META-INF/")) return KnownFormat{"a Java archive", kNoText};
  if (name.ends_with(".npy")) return KnownFormat{"arrays of numpy (npz)", kNoText};
  return std::nullopt;
}

std::optional<KnownFormat> OfBinary(std::string_view front) {
  for (const Magic& magic : kMagics) {
    if (front.size() < magic.offset || !front.substr(magic.offset).starts_with(magic.bytes)) continue;
    if (magic.offset == 8 && !front.starts_with("RIFF")) continue;
    if (magic.offset == 4 && !IsNoAsciiAt(front, 0))
      continue;  // the size of a box comes first, and its first byte is 0
    return magic.format;
  }
  if ((front.starts_with("PAR1") || front.starts_with("PARE")) && IsNoAsciiAt(front, 4))
    return KnownFormat{"a Parquet file", kTable};
  if (front.starts_with("FEA1") && IsNoAsciiAt(front, 4)) return KnownFormat{"a Feather file", kTable};
  if (IsOrc(front)) return KnownFormat{"an ORC file", kTable};
  if (IsVersioned(front, "SEQ", 6)) return KnownFormat{"a sequence file of Hadoop", kTable};
  if (IsVersioned(front, "ID3", 4)) return KnownFormat{"MP3 sound", kNoText};
  if (front.size() >= 8 && front.starts_with("GGUF") && LittleEndian(front.substr(4, 4)) < 256)
    return KnownFormat{"a GGUF model", kNoText};
  if (front.size() >= 10 && front.substr(5, 5) == "\0\0\0{\""sv)
    return KnownFormat{"a safetensors model", kNoText};
  if (front.size() >= 9 && front[0] == '\x0A' && front.substr(2, 7) == "\x0A\x05<unk>"sv)
    return KnownFormat{"a SentencePiece model", kNoText};
  if (front.size() >= 7 && front.substr(2, 3) == "-lh" && front[6] == '-')
    return Packed("an LHA archive (.lzh)");
  if (front.starts_with("EGGA") && IsNoAsciiAt(front, 4)) return Packed("an EGG archive");
  if (IsCompress(front)) return Packed("compress data (.Z)");
  if (IsCpio(front)) return Packed("a cpio archive");
  if (IsProgramOfWindows(front)) return KnownFormat{"a Windows program", kNoText};
  if (IsTfRecord(front)) return KnownFormat{"a TFRecord file", "read it with read_examples"};
  return OfZip(front);
}

bool BeginsWith(std::string_view text, std::string_view lower_case) {
  if (text.size() < lower_case.size()) return false;
  return std::equal(lower_case.begin(), lower_case.end(), text.begin(), [](char want, char byte) {
    return want == (byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte - 'A' + 'a') : byte);
  });
}

/// Returns the ASCII text that a text begins with, without its mark and the white space in front. `narrow`
/// holds that of UTF-16.
std::string_view AsciiOf(std::string_view front, std::string& narrow) {
  for (const std::string_view mark : {"\xEF\xBB\xBF"sv, "\xFF\xFE"sv, "\xFE\xFF"sv})
    if (front.starts_with(mark)) {
      front.remove_prefix(mark.size());
      break;
    }
  if (front.substr(0, 2).find('\0') != std::string_view::npos) {
    std::copy_if(front.begin(), front.end(), std::back_inserter(narrow),
                 [](char byte) { return byte != '\0'; });
    front = narrow;
  }
  front.remove_prefix(std::min(front.find_first_not_of(" \t\r\n"), front.size()));
  return front;
}

/// Returns whether a text begins with an object of JSON that has a member: {"id": 1
bool IsJsonLines(std::string_view text) {
  const auto skip = [&text](std::string_view sign) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
    const bool found = text.starts_with(sign);
    text.remove_prefix(found ? sign.size() : 0);
    return found;
  };
  if (!skip("{") || !skip("\"")) return false;
  constexpr std::size_t kLongestName = 64;
  const std::size_t name = text.find('"');
  if (name == 0 || name > kLongestName) return false;
  text.remove_prefix(name + 1);
  return skip(":");
}

std::optional<KnownFormat> OfText(std::string_view front) {
  std::string narrow;
  front = AsciiOf(front, narrow);
  if (front.starts_with("WARC/")) return KnownFormat{"a WARC file", kMarkup, true};
  if (front.starts_with("filedesc://")) return KnownFormat{"an ARC file", kMarkup, true};
  if (front.starts_with("<mediawiki")) return kMediaWiki;
  if (BeginsWith(front, "<!doctype html") || BeginsWith(front, "<html"))
    return KnownFormat{"HTML", kMarkup, true};
  if (!BeginsWith(front, "<?xml") && !front.starts_with("<!DOCTYPE")) return std::nullopt;
  if (front.find("<mediawiki") != std::string_view::npos) return kMediaWiki;
  return KnownFormat{"XML", kMarkup, true};
}

}  // namespace

std::optional<KnownFormat> RecogniseFormat(std::string_view front) {
  if (std::optional<KnownFormat> format = OfBinary(front)) return format;
  return OfText(front);
}

Status RefuseKnownFormat(std::string_view front, TextForms forms) {
  std::optional<KnownFormat> format = RecogniseFormat(front);
  if (std::string narrow; !format && forms == TextForms::kProse && IsJsonLines(AsciiOf(front, narrow)))
    format = kJsonLines;
  if (!format || (format->is_text && forms == TextForms::kAny)) return {};
  std::string message = StrCat("is ", format->name, ", not plain text; ", format->advice);
  if (format->is_packed) {
    message += "; ";
    for (const CompressedFormat& one : CompressedFormats()) message += StrCat(one.name, ", ");
    message += "tar and zip are read as they are";
  }
  return Status(Code::kUnimplemented, message);
}

}  // namespace pipeline
