#include "formats/known_format.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "formats/tfrecord.h"

namespace pipeline {
namespace {

using namespace std::string_literals;

std::string NameOf(const std::string& front) {
  const std::optional<KnownFormat> format = RecogniseFormat(front);
  return format ? std::string(format->name) : "";
}

std::string LocalZipHeader(const std::string& name) {
  std::string header = "PK\x03\x04"s + std::string(26, '\0') + name + "data";
  header[26] = static_cast<char>(name.size());
  return header;
}

std::string Utf16Le(const std::string& ascii) {
  std::string wide;
  for (const char byte : ascii) wide += {byte, '\0'};
  return wide;
}

TEST(KnownFormatTest, BinaryFormatsAreRefusedWhateverIsAskedFor) {
  const std::vector<std::pair<std::string, std::string>> fronts = {
      {"%PDF-1.4\n", "a PDF document"},
      {"PAR1\x15\x04", "a Parquet file"},
      {"ARROW1\0\0\xFF"s, "an Arrow file"},
      {"ORC\x0A\x0B", "an ORC file"},
      {"Obj\x01\x04", "an Avro file"},
      {"SQLite format 3\0\x10"s, "an SQLite database"},
      {"\x89HDF\r\n\x1A\n", "an HDF5 file"},
      {"\x80\x04\x95\x10", "a pickle of Python"},
      {"\x93NUMPY\x01", "an array of numpy (npy)"},
      {"\x7F"s + "ELF\x02\x01", "an ELF program or library"},
      {"MZ\x90"s + std::string(57, '\0') + "\x40\0\0\0PE\0\0"s, "a Windows program"},
      {"\x89PNG\r\n\x1A\n", "a PNG image"},
      {"\xFF\xD8\xFF\xE0", "a JPEG image"},
      {"\0\0\0\x18"s + "ftypmp42", "MP4 video or sound"},
      {"RIFF....WAVEfmt ", "WAVE sound"},
      {"Rar!\x1A\x07\x01\0"s, "a RAR archive"},
      {"7z\xBC\xAF\x27\x1C", "a 7z archive"},
      {"ALZ\x01\x0A", "an ALZ archive"},
      {"EGGA\0\x01"s, "an EGG archive"},
      {"\x1F\x9D\x90", "compress data (.Z)"},
      {"LZIP\x01\x0C", "lzip data"},
      {"\x1B\x2C-lh5-", "an LHA archive (.lzh)"},
      {"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1", "an old Office or Hangul document (OLE)"},
      {LocalZipHeader("[Content_Types].xml"), "an Office document"},
      {LocalZipHeader("mimetype").substr(0, 38) + "application/hwp+zip", "a Hangul document (HWPX)"},
      {LocalZipHeader("mimetype"), "an OpenDocument or EPUB document"},
      {LocalZipHeader("arr_0.npy"), "arrays of numpy (npz)"},
      {"\x10\0\0\0\0\0\0\0{\"__metadata__\""s, "a safetensors model"},
  };
  for (const auto& [front, name] : fronts) {
    EXPECT_EQ(NameOf(front), name);
    for (const TextForms forms : {TextForms::kProse, TextForms::kRows, TextForms::kAny}) {
      const Status refused = RefuseKnownFormat(front, forms);
      EXPECT_EQ(refused.code(), Code::kUnimplemented) << name;
      EXPECT_NE(refused.message().find("is " + name + ", not plain text; "), std::string::npos)
          << refused.message();
    }
  }
}

TEST(KnownFormatTest, ARecordOfTensorFlowIsKnownByItsChecksum) {
  std::string record;
  AppendTfRecord(record, "0123456789");
  EXPECT_EQ(NameOf(record), "a TFRecord file");
  record[9] ^= 1;
  EXPECT_EQ(NameOf(record), "");
}

TEST(KnownFormatTest, FormatsOfTextPassWhereTheyAreAskedFor) {
  const std::vector<std::pair<std::string, std::string>> fronts = {
      {"WARC/1.0\r\nWARC-Type: warcinfo\r\n", "a WARC file"},
      {"filedesc://x.arc 0.0.0.0", "an ARC file"},
      {"<mediawiki xmlns=\"http://www.mediawiki.org/xml/export-0.10/\">", "a MediaWiki dump"},
      {"<?xml version=\"1.0\"?>\n<mediawiki>", "a MediaWiki dump"},
      {"\xEF\xBB\xBF\n <?xml version=\"1.0\"?><a/>", "XML"},
      {"<!DOCTYPE HTML PUBLIC", "HTML"},
      {"<HTML>", "HTML"},
      {"\xFF\xFE" + Utf16Le("<?xml version=\"1.0\"?>"), "XML"},
      {Utf16Le("<html>"), "HTML"},
  };
  for (const auto& [front, name] : fronts) {
    EXPECT_EQ(NameOf(front), name);
    EXPECT_EQ(RefuseKnownFormat(front, TextForms::kRows).code(), Code::kUnimplemented);
    EXPECT_NE(RefuseKnownFormat(front, TextForms::kRows).message().find("content: text"), std::string::npos);
    EXPECT_TRUE(RefuseKnownFormat(front, TextForms::kAny).ok());
  }
}

TEST(KnownFormatTest, JsonLinesAreRowsAndNoProse) {
  for (const std::string& front : {"{\"id\": 1, \"text\": \"猫\"}\n"s, "\xEF\xBB\xBF\n { \"本文\" : \"a"s,
                                   Utf16Le("{\"text\":\"a\"}")}) {
    const Status refused = RefuseKnownFormat(front, TextForms::kProse);
    EXPECT_NE(refused.message().find("is JSON Lines, not plain text; read it with read_rows"),
              std::string::npos);
    EXPECT_TRUE(RefuseKnownFormat(front, TextForms::kRows).ok());
    EXPECT_TRUE(RefuseKnownFormat(front, TextForms::kAny).ok());
  }
  for (const std::string_view front : {"{", "{\"", "{}", "{\"quoted\" text} goes on", "{name}: text", "[1]"})
    EXPECT_TRUE(RefuseKnownFormat(front, TextForms::kProse).ok()) << front;
}

TEST(KnownFormatTest, TextThatBeginsLikeOneOfThemIsText) {
  for (const std::string& text : {""s,
                                  "a"s,
                                  "PAR1: the first part\n"s,
                                  "PAR1"s,
                                  "ORCID 0000"s,
                                  "MZ is how a program begins, and this line is long enough"s,
                                  "GIF is a format"s,
                                  "BM"s,
                                  "FEA1 "s,
                                  "SEQUENCE"s,
                                  "ID3 tags"s,
                                  "LZIP is a format"s,
                                  "070701 was a date\n"s,
                                  "WARCRAFT"s,
                                  "<doc id=\"1\">"s,
                                  "<p>a"s,
                                  "<xml"s,
                                  "吾輩は猫である。\n"s,
                                  "\x82\xA0\x82\xA2"s,
                                  LocalZipHeader("a.txt"),
                                  "1F9D"s,
                                  "\x1F\x9D\xFF"s,
                                  "xxxxxftyp"s,
                                  "!<arch"s})
    EXPECT_EQ(NameOf(text), "") << text;
}

TEST(KnownFormatTest, NoPrefixOfAFrontIsReadBeyondItsEnd) {
  const std::string front = LocalZipHeader("[Content_Types].xml") + std::string(200, '\0');
  for (std::size_t bytes = 0; bytes <= front.size(); ++bytes) NameOf(std::string(front, 0, bytes));
  const std::string program = "MZ\x90"s + std::string(57, '\0') + "\xFF\xFF\xFF\x7F"s;
  EXPECT_EQ(NameOf(program), "a Windows program");
}

}  // namespace
}  // namespace pipeline
