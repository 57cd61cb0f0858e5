// SPDX-License-Identifier: Apache-2.0
#include "simulator/sync/report.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <string_view>

namespace tilewright::ascend {

namespace {
std::string at(const Place& place) {
  return std::string(place.file) + ":" + std::to_string(place.line);
}

/// The text of a line of a source file, or nothing if it can't be read.
std::string sourceLine(const Place& place) {
  std::ifstream file(place.file);
  std::string line;
  for (uint32_t i = 0; i < place.line; ++i)
    if (!std::getline(file, line))
      return {};
  return line.empty() ? line : "    " + line + "\n";
}

bool isOfName(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
}

/// "reducesum" of "T.reduce_sum".
std::string plainName(const std::string& name) {
  std::string plain;
  for (const char c : name.substr(name.rfind('.') + 1))
    if (c != '_')
      plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return plain;
}

/// "T.reduce_sum: " where a line of Python calls that, and the sentence speaks of an instruction of another name: "Max on
/// PIPE_V ...".
std::string nameOfStatement(const ReportItem& item) {
  const std::string instruction = item.sentence.substr(0, item.sentence.find(" on PIPE_"));
  const bool isInstruction = std::all_of(instruction.begin(), instruction.end(), isOfName);
  if (!std::string_view(item.place.file).ends_with(".py") || !isInstruction)
    return {};
  const std::string line = sourceLine(item.place);
  const auto begin = std::find_if(line.begin(), line.end(), isOfName);
  const auto end = std::find_if_not(begin, line.end(), isOfName);
  const std::string called(begin, end);
  if (end == line.end() || *end != '(' || called.find('.') == std::string::npos)
    return {};
  const std::string mine = plainName(called), theirs = plainName(instruction);
  const bool isSame =
      mine.find(theirs) != std::string::npos || theirs.find(mine) != std::string::npos;
  return isSame ? std::string() : called + ": ";
}
} // namespace

std::string render(const ReportItem& item) {
  bool hasPlace = item.place.file && *item.place.file;
  std::string text = hasPlace ? at(item.place) + ": " : "";
  text += item.isError ? "error: " : "warning: ";
  text += (hasPlace ? nameOfStatement(item) : "") + item.sentence;
  if (item.occurrences > 1)
    text += " [" + std::to_string(item.occurrences) + " times]";
  text += "\n";
  if (hasPlace)
    text += sourceLine(item.place);
  for (const ReportNote& note : item.notes) {
    bool placed = note.place.file && *note.place.file;
    text += (placed ? at(note.place) + ": note: " : "  note: ") + note.text + note.once + "\n";
    if (placed)
      text += sourceLine(note.place);
  }
  return text;
}

size_t Report::add(const std::string& key, ReportItem item) {
  auto [known, isNew] = keys.try_emplace(key, items.size());
  if (isNew)
    items.push_back(std::move(item));
  else
    items[known->second].occurrences += item.occurrences;
  return known->second;
}

bool Report::hasErrors() const {
  return std::any_of(items.begin(), items.end(), [](const auto& i) { return i.isError; });
}

void Report::merge(const Report& other) {
  std::vector<const std::string*> inOrder(other.items.size());
  for (const auto& [key, index] : other.keys)
    inOrder[index] = &key;
  for (size_t i = 0; i < other.items.size(); ++i)
    add(*inOrder[i], other.items[i]);
}

} // namespace tilewright::ascend
