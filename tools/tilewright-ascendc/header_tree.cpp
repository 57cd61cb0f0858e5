// SPDX-License-Identifier: Apache-2.0
#include "header_tree.h"
#include "device_attributes.h"
#include "files.h"

#include <fstream>
#include <sstream>

namespace tilewright::ascendc {

namespace fs = std::filesystem;

namespace {

std::string contentsOf(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}
/// Skips blanks from `at` on.
size_t skipBlanks(const std::string& text, size_t at) {
  while (at < text.size() && (text[at] == ' ' || text[at] == '\t'))
    ++at;
  return at;
}

} // namespace

std::vector<HeaderTree::Include> HeaderTree::includesOf(const std::string& text,
                                                        const fs::path& folder) {
  std::vector<Include> found;
  for (size_t line = 0; line < text.size();) {
    size_t end = text.find('\n', line);
    end = end == std::string::npos ? text.size() : end;
    size_t at = skipBlanks(text, line);
    if (at < end && text[at] == '#')
      at = skipBlanks(text, at + 1);
    constexpr std::string_view word = "include";
    if (text[skipBlanks(text, line)] == '#' && text.compare(at, word.size(), word) == 0) {
      at = skipBlanks(text, at + word.size());
      char open = at < end ? text[at] : ' ', close = open == '<' ? '>' : '"';
      size_t stop = open == '<' || open == '"' ? text.find(close, at + 1) : std::string::npos;
      if (stop != std::string::npos && stop < end) {
        Include include{at, stop + 1, {}};
        fs::path name = text.substr(at + 1, stop - at - 1);
        std::error_code error;
        if (open == '"' && fs::is_regular_file(folder / name, error))
          include.file = fs::weakly_canonical(folder / name, error);
        for (const fs::path& f : folders)
          if (include.file.empty() && fs::is_regular_file(f / name, error))
            include.file = fs::weakly_canonical(f / name, error);
        found.push_back(include);
      }
    }
    line = end + 1;
  }
  return found;
}

const HeaderTree::Header& HeaderTree::headerOf(const fs::path& file) {
  auto [known, isNew] = headers.try_emplace(file);
  Header& header = known->second;
  if (!isNew)
    return header; // also while it is being read: a circle of includes
  size_t number = headers.size();
  std::string text = contentsOf(file);
  addNames(text, names);
  bool hasOwn = false;
  header.includesKernelOperator = text.find("kernel_operator.h") != std::string::npos;
  RewrittenSource rewritten = rewriteOne(text, file.string(), true, hasOwn);
  header.includesKernelOperator |= rewritten.includesKernelOperator;
  if (!hasOwn)
    return header;
  header.isRewritten = true;
  header.host = copies / ("header" + std::to_string(number) + ".host.h");
  header.device = copies / ("header" + std::to_string(number) + ".device.h");
  writeFile(header.host, rewritten.host);
  writeFile(header.device, rewritten.device);
  return header;
}

RewrittenSource HeaderTree::rewriteOne(const std::string& source, const std::string& path,
                                       bool moves, bool& hasOwn) {
  const std::string text = withoutDeviceAttributes(source);
  fs::path folder = absoluteOf(path).parent_path();
  std::vector<Include> included = includesOf(text, folder);
  for (const Include& include : included)
    if (!include.file.empty())
      headerOf(include.file); // their names come first
  RewrittenSource result = rewrite(text, path, moves ? nullptr : &names, &declared);
  result.hasDeviceAttributes = text != source;
  hasOwn = result.hasLaunches || !result.kernels.empty() || result.hasDeviceAttributes;
  all.hasLaunches |= result.hasLaunches;
  all.hasDeviceAttributes |= result.hasDeviceAttributes;
  all.hasTemplates |= result.hasTemplates;
  all.errors.insert(all.errors.end(), result.errors.begin(), result.errors.end());
  for (const auto& [name, kinds] : result.kernels)
    all.kernels[name] |= kinds;
  for (const Include& include : included) {
    if (include.file.empty())
      continue;
    const Header& header = headerOf(include.file);
    result.includesKernelOperator |= header.includesKernelOperator;
    hasOwn |= header.isRewritten;
  }
  if (!hasOwn && moves)
    return result;
  for (std::string* out : {&result.host, &result.device, &result.kernelsOnly}) {
    std::vector<Include> includes = includesOf(*out, folder);
    for (size_t k = includes.size(); k-- > 0;) {
      const Include& i = includes[k];
      if (i.file.empty())
        continue;
      const Header& header = headerOf(i.file);
      bool isHost = out == &result.host;
      std::string to = header.isRewritten ? (isHost ? header.host : header.device)
                       : moves            ? i.file.string()
                                          : "";
      if (!to.empty())
        out->replace(i.begin, i.end - i.begin, "\"" + to + "\"");
    }
  }
  return result;
}

RewrittenSource HeaderTree::rewriteAll(const std::string& text, const std::string& path) {
  all = {};
  bool hasOwn = false;
  RewrittenSource result = rewriteOne(text, path, false, hasOwn);
  result.kernels = all.kernels;
  result.hasLaunches = all.hasLaunches;
  result.hasDeviceAttributes = all.hasDeviceAttributes;
  result.hasTemplates = all.hasTemplates;
  result.errors = all.errors;
  return result;
}

} // namespace tilewright::ascendc
