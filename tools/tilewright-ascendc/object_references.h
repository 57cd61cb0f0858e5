// SPDX-License-Identifier: Apache-2.0
// What the functions of an ELF object name, themselves or through others of the object.
#ifndef TILEWRIGHT_TOOLS_ASCENDC_OBJECT_REFERENCES_H
#define TILEWRIGHT_TOOLS_ASCENDC_OBJECT_REFERENCES_H

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace tilewright::ascendc {

struct Named {
  std::set<std::string> undefined; ///< functions that the object has not
  std::set<std::string> kinds;     ///< marks of kinds (kernel_table.h)
};
/// An object that is read when it is first asked, and once. It was compiled with -ffunction-sections: calls within a
/// section need no relocation.
class ObjectReferences {
public:
  explicit ObjectReferences(std::string path);
  ~ObjectReferences();
  ObjectReferences(const ObjectReferences&) = delete;
  ObjectReferences& operator=(const ObjectReferences&) = delete;

  /// What a function of the object names, itself or through others.
  Named namedFrom(const std::string& function);
  bool isEmpty() const { ///< no object
    return path.empty();
  }

private:
  std::string path;
  std::unique_ptr<struct IndexedImage> image;
};

/// A variable that is zero until the program runs, that code names which runs at its start, and that a kernel uses.
struct LateVariable {
  std::string symbol; ///< of the variable
  std::string kernel; ///< the symbol of the first of the kernels that uses it
};

/// Such variables of an object that was compiled with -fdata-sections.
std::vector<LateVariable> lateVariables(const std::string& path,
                                        const std::vector<std::string>& kernels);
/// What the lines of an object say that was compiled with -g2 and -fdata-sections, but not optimised.
struct Places {
  std::map<std::string, std::string> ofVariable; ///< file:line by symbol
  std::set<std::string> initialised; ///< by code of their own that runs when a program starts
};
/// Runs nm and objdump.
Places placesOfVariables(const std::string& path);

} // namespace tilewright::ascendc

#endif
