// SPDX-License-Identifier: Apache-2.0
// Compiles each source once for the host and once per kind of core, and links the program.
#ifndef TILEWRIGHT_TOOLS_ASCENDC_BUILDER_H
#define TILEWRIGHT_TOOLS_ASCENDC_BUILDER_H

#include "command.h"
#include "object_file.h"
#include "options.h"
#include "rewrite.h"

#include <filesystem>

namespace tilewright::ascendc {

class Builder {
public:
  explicit Builder(const Options& options);
  ~Builder();
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  /// The exit code of the program.
  int run();

private:
  enum Pass { Host, Cube, Vector };

  static std::vector<Pass> passesOf(const RewrittenSource& rewritten);
  bool findCompiler();
  bool findInstallation();
  bool compileSource(const std::string& source, size_t index);
  bool compilePlain(const std::string& source, const std::string& object);
  /// Kernels whose names are local to the objects of the three passes get names that the table can use.
  bool publishLocalKernels(const RewrittenSource& rewritten, const std::string objects[3],
                           ObjectSymbols symbols[3]);
  bool makeTable(const RewrittenSource& rewritten, const std::string objects[3],
                 const std::string& table);
  bool link();
  Command compileCommand(Pass pass, const std::string& from, const std::string& source,
                         const std::string& to);
  std::vector<std::string> passFlags(Pass pass) const;
  /// The precompiled header of a pass, made when it isn't there; empty without one.
  std::string precompiled(Pass pass);
  bool preparePrecompiled();
  /// What `-I` and `-isystem` name.
  std::vector<std::filesystem::path> includeFolders() const;
  std::string toolchainStamp() const;

  const Options& options;
  std::string compiler;
  bool isClang = false;
  std::filesystem::path headers, aclHeaders, library, work;
  std::vector<std::string> objects;
  std::string pch[3];
};

} // namespace tilewright::ascendc

#endif
