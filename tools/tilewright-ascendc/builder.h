// SPDX-License-Identifier: Apache-2.0
// Compiles each source once for the host and once per kind of core, and links the program.
#ifndef TILEWRIGHT_TOOLS_ASCENDC_BUILDER_H
#define TILEWRIGHT_TOOLS_ASCENDC_BUILDER_H

#include "command.h"
#include "object_file.h"
#include "options.h"
#include "precompiled.h"
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
  /// Into the folder that every source may include from.
  bool writeLaunchHeaders();
  /// Into the folder that `launch-headers` names.
  bool publishLaunchHeaders() const;
  enum class Outcome { Done, Failed, Impossible };
  /// Host and cores; `objects` have the names of what is made.
  bool compilePasses(const RewrittenSource& rewritten, const std::vector<Pass>& passes,
                     const std::string& source, const std::string objects[3]);
  /// The same without the host's functions in the passes of the cores, which halves their time. Impossible if the
  /// kernels are not the same then, or an error may come from what is missing.
  Outcome compileKernelsOnly(const RewrittenSource& rewritten, const std::vector<Pass>& passes,
                             const std::string& source, const std::string objects[3],
                             std::vector<std::string>& messages);
  static std::vector<std::string> kernelsAmong(const ObjectSymbols& symbols,
                                               const RewrittenSource& rewritten);
  static bool haveSameKernels(const RewrittenSource& rewritten, const std::vector<Pass>& passes,
                              const std::string objects[3]);
  /// Writes the text beside the object, and compiles it as if it were `source`.
  Command commandOf(Pass pass, const std::string& text, const std::string& source,
                    const std::string& object);
  bool compilePlain(const std::string& source, const std::string& object);
  /// Kernels whose names are local to the objects of the three passes get names that the table can use.
  bool publishLocalKernels(const RewrittenSource& rewritten, const std::string objects[3],
                           size_t index, ObjectSymbols symbols[3]);
  bool makeTable(const RewrittenSource& rewritten, const std::string& source,
                 const std::string objects[3], size_t index, const std::string& table);
  /// Compiles the host's pass once more, with the parameters of the kernels: their names are known by now.
  bool addSignatures(const RewrittenSource& rewritten, const std::string& source,
                     const std::vector<TableRow>& rows, const std::string& object, size_t index);
  static bool listKernels(const RewrittenSource& rewritten, const std::string& source,
                          const std::string objects[3], const ObjectSymbols symbols[3],
                          std::vector<TableRow>& rows);
  /// Kernels that use variables whose initialisers run at the start of a program.
  std::string warningsOfLateVariables(const RewrittenSource& rewritten, const std::string& source,
                                      const std::vector<TableRow>& rows,
                                      const std::string objects[3]);
  /// What makes names of this source differ from those of another.
  std::string localSuffix(size_t index) const {
    return "$" + uniqueName(index);
  }
  /// A part of names that no other source of any program has.
  std::string uniqueName(size_t index) const;
  std::string tableSymbol(size_t index) const {
    return "tilewright_kernels_" + uniqueName(index);
  }
  bool link();
  /// Adds the seal of a kernel object.
  bool sealOutput() const;
  Command compileCommand(Pass pass, const std::string& from, const std::string& source,
                         const std::string& to);
  std::vector<std::string> passFlags(Pass pass) const;
  /// What is kept precompiled for a pass. Folders of the user matter only to the user's headers.
  PrecompiledHeader precompiledHeader(Pass pass) const;
  /// Sees to it that these passes have a precompiled header.
  bool preparePasses(const std::vector<Pass>& passes);
  /// What `-I` and `-isystem` name.
  std::vector<std::filesystem::path> includeFolders() const;

  const Options& options;
  std::string compiler;
  bool isClang = false;
  std::filesystem::path headers, aclHeaders, library, work, launchHeaders;
  std::vector<std::string> objects;
  std::vector<std::string> pchOptions[3];
};

} // namespace tilewright::ascendc

#endif
