// SPDX-License-Identifier: Apache-2.0
// The user's headers behind a source: kernels, launches and `[aicore]` may stand in them as well. A header that
// holds one, or includes one that does, is rewritten like the source and included from a copy.
#ifndef TILEWRIGHT_TOOLS_ASCENDC_HEADER_TREE_H
#define TILEWRIGHT_TOOLS_ASCENDC_HEADER_TREE_H

#include "rewrite.h"

#include <filesystem>
#include <set>

namespace tilewright::ascendc {

class HeaderTree {
public:
  /// Headers are looked for beside the includer, then in `folders`; copies go to `copies`.
  HeaderTree(std::vector<std::filesystem::path> folders, std::filesystem::path copies)
      : folders(std::move(folders)), copies(std::move(copies)) {}

  /// The source `text` of `path`, rewritten together with its headers. What kernels there are and
  /// what is included is that of all of them.
  RewrittenSource rewriteAll(const std::string& text, const std::string& path);

private:
  struct Header {
    bool isRewritten = false, includesKernelOperator = false;
    std::string host, device; ///< paths of the copies
  };
  struct Include {
    size_t begin, end;          ///< of the name with its quotes in the text
    std::filesystem::path file; ///< empty: not found, or none of the user's
  };
  std::vector<Include> includesOf(const std::string& text, const std::filesystem::path& folder);
  const Header& headerOf(const std::filesystem::path& file);
  /// Rewrites one text and points its includes at copies; `moves`: it will not stand where it did.
  RewrittenSource rewriteOne(const std::string& source, const std::string& path, bool moves,
                             bool& hasOwn);

  std::vector<std::filesystem::path> folders;
  std::filesystem::path copies;
  std::map<std::filesystem::path, Header> headers;
  Names names;    ///< in all headers
  Names declared; ///< kernels of the headers so far
  RewrittenSource all;
};

} // namespace tilewright::ascendc

#endif
