// SPDX-License-Identifier: Apache-2.0
#include "builder.h"
#include "files.h"
#include "header_tree.h"
#include "instantiations.h"
#include "launch_headers.h"
#include "object_file.h"

#include "simulator/object_seal.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>
#include <unistd.h>

namespace tilewright::ascendc {

namespace fs = std::filesystem;

namespace {

bool inPath(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::stringstream folders(path ? path : "");
  std::string folder;
  while (std::getline(folders, folder, ':'))
    if (access((folder + "/" + program).c_str(), X_OK) == 0)
      return true;
  return program.find('/') != std::string::npos && access(program.c_str(), X_OK) == 0;
}

std::string textOf(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

} // namespace

Builder::Builder(const Options& options) : options(options) {
  std::string pattern = temporaryFolder() / "tilewright-ascendc-XXXXXX";
  if (mkdtemp(pattern.data()))
    work = pattern;
  else
    fprintf(stderr,
            "error: cannot make a temporary folder in '%s': %s; set TMPDIR to a folder that you "
            "may write\n",
            temporaryFolder().c_str(), strerror(errno));
}

Builder::~Builder() {
  std::error_code ignored;
  if (!options.keep && !work.empty())
    fs::remove_all(work, ignored);
}

bool Builder::findCompiler() {
  std::vector<std::string> candidates = {"clang++-22", "g++-12", "clang++", "g++"};
  if (!options.compiler.empty())
    candidates = {options.compiler};
  for (const std::string& c : candidates)
    if (inPath(c)) {
      compiler = c;
      isClang = c.find("clang") != std::string::npos;
      return true;
    }
  if (!options.compiler.empty()) {
    fprintf(stderr, "error: --cxx names '%s', but PATH has no such compiler\n",
            options.compiler.c_str());
    return false;
  }
  fprintf(stderr,
          "error: no C++ compiler found; install clang-22 or g++-12, or name one with --cxx\n");
  return false;
}

bool Builder::findInstallation() {
  std::error_code error;
  fs::path self = fs::read_symlink("/proc/self/exe", error);
  fs::path root = self.parent_path().parent_path();
  library = root / "lib" / "libtilewright_ascend.so";
  headers = root / "include" / "tilewright-ascend" / "ascendc";
  if (!isThere(headers))
    headers = fs::path(TILEWRIGHT_SOURCE_FOLDER) / "simulator" / "ascendc";
  aclHeaders = headers.parent_path() / "include";
  for (const fs::path& p : {library, headers / "kernel_operator.h"})
    if (!isThere(p)) {
      fprintf(stderr, "error: '%s' is missing; build or install the simulator\n", p.c_str());
      return false;
    }
  return true;
}

std::vector<std::string> Builder::passFlags(Pass pass) const {
  std::vector<std::string> flags = {
      "-std=c++17", "-fPIC", "-O1", "-Wno-unknown-pragmas", "-fno-strict-aliasing",
      // The language's integers wrap, and so do those of emitted text.
      "-fwrapv"};
  if (!isClang)
    flags.push_back("-fno-gnu-unique");
  else
    // A precompiled header forgets where the standard library says that it uses its own deprecated functions:
    // without the macro it has none.
    flags.insert(flags.end(),
                 {"-Wno-unknown-attributes", "-Wno-gnu-line-marker", "-U__DEPRECATED"});
  flags.push_back("-ffp-contract=off");
  if (pass == Cube)
    flags.insert(flags.end(), {"-D__DAV_CUBE__=1", "-D__DAV_C220_CUBE__=1"});
  if (pass == Vector)
    flags.insert(flags.end(), {"-D__DAV_VEC__=1", "-D__DAV_C220_VEC__=1"});
  // Lines, so that a fault has a place. addr2line of binutils 2.40 takes the wrong name for some files of DWARF 5.
  flags.insert(flags.end(), {"-g1", "-gdwarf-4"});
  if (isClang)
    flags.push_back("-fdebug-compilation-dir=."); // a place has the path that was given
  // Frame pointers for the same. A large array must not reach beyond the guard of the stack, and what uses a null
  // pointer must stay.
  if (pass != Host)
    flags.insert(flags.end(),
                 {"-D__CCE_AICORE__=220", "-D__NPU_DEVICE__=1", "-fno-omit-frame-pointer",
                  "-fno-optimize-sibling-calls",
                  // A loop without an end stays one, and has a place when a limit ends it.
                  "-fno-finite-loops", "-fstack-clash-protection",
                  "-fno-delete-null-pointer-checks",
                  // So that object_references.h knows who uses which.
                  "-fdata-sections", "-ffunction-sections"});
  for (const char* d : {"-D__NPU_ARCH__=2201", "-DTILEWRIGHT_ASCEND=1"})
    flags.push_back(d);
  // A user's warnings are about the user's code.
  for (const fs::path& folder : {headers, aclHeaders})
    flags.insert(flags.end(), {"-isystem", folder.string()});
  flags.insert(flags.end(), options.compileFlags.begin(), options.compileFlags.end());
  return flags;
}

std::vector<fs::path> Builder::includeFolders() const {
  std::vector<fs::path> folders;
  const std::vector<std::string>& flags = options.compileFlags;
  for (size_t k = 0; k < flags.size(); ++k) {
    if ((flags[k] == "-I" || flags[k] == "-isystem") && k + 1 < flags.size())
      folders.emplace_back(flags[++k]);
    else if (flags[k].starts_with("-I"))
      folders.emplace_back(flags[k].substr(2));
  }
  return folders;
}

PrecompiledHeader Builder::precompiledHeader(Pass pass) const {
  // g++ takes a header only with the flags that it was made with, and a header of the user may ask for the pass.
  const bool isForAllPasses = isClang && options.precompile.empty();
  const std::vector<std::string> flags = passFlags(isForAllPasses ? Host : pass);
  PrecompiledHeader header{compiler, isClang, {}, options.precompile, isForAllPasses};
  const size_t own = flags.size() - options.compileFlags.size();
  for (size_t k = 0; k < flags.size(); ++k) {
    const bool isFolder = options.precompile.empty() && k >= own &&
                          (flags[k].starts_with("-I") || flags[k] == "-isystem");
    if (!isFolder)
      header.flags.push_back(flags[k]);
    else if (flags[k] == "-I" || flags[k] == "-isystem")
      ++k;
  }
  return header;
}

bool Builder::preparePasses(const std::vector<Pass>& passes) {
  if (options.noPch)
    return true;
  std::vector<PrecompiledHeader> headers;
  std::vector<std::pair<Pass, size_t>> unprepared;
  for (Pass pass : passes) {
    if (!pchOptions[pass].empty())
      continue;
    const PrecompiledHeader header = precompiledHeader(pass);
    const auto same = std::find(headers.begin(), headers.end(), header);
    unprepared.emplace_back(pass, same - headers.begin());
    if (same == headers.end())
      headers.push_back(header);
  }
  const std::vector<std::vector<std::string>> made = preparePrecompiled(headers, options.verbose);
  if (made.size() != headers.size())
    return false;
  for (const auto& [pass, header] : unprepared)
    pchOptions[pass] = made[header];
  return true;
}

Command Builder::compileCommand(Pass pass, const std::string& from, const std::string& source,
                                const std::string& to) {
  Command c = {compiler};
  c.insert(c.end(), pchOptions[pass].begin(), pchOptions[pass].end());
  auto flags = passFlags(pass);
  c.insert(c.end(), flags.begin(), flags.end());
  // What only the host's functions use is unused here.
  if (pass != Host)
    c.insert(c.end(), {"-Wno-unused-function", "-Wno-unused-const-variable"});
  if (pass != Host && isClang)
    c.insert(c.end(), {"-Wno-unneeded-internal-declaration", "-Wno-undefined-internal"});
  if (!isClang && fs::path(source).is_relative())
    c.push_back("-fdebug-prefix-map=" + workingFolder().string() + "=.");
  c.insert(c.end(), {"-iquote", absoluteOf(source).parent_path(), "-I" + launchHeaders.string(),
                     "-Wno-unused-parameter", "-x", "c++", "-c", from, "-o", to});
  return c;
}

bool Builder::compilePlain(const std::string& source, const std::string& object) {
  Command c = {compiler};
  auto flags = passFlags(Host);
  c.insert(c.end(), flags.begin(), flags.end());
  c.insert(c.end(), {"-I" + launchHeaders.string(), "-x", "c++", "-c", source, "-o", object});
  return runAll({c}, options.verbose);
}

bool Builder::writeLaunchHeaders() {
  launchHeaders = work / "launch";
  bool isWell = makeFolder(launchHeaders);
  for (const std::string& source : options.sources)
    for (const auto& [name, header] : launchHeadersOf(textOf(source)))
      isWell = isWell && writeFile(launchHeaders / name, header);
  return isWell;
}

bool Builder::publishLaunchHeaders() const {
  std::map<std::string, std::string> headers;
  for (const std::string& source : options.sources) {
    std::error_code error;
    if (!fs::is_regular_file(source, error)) {
      fprintf(stderr, "error: cannot read '%s'\n", source.c_str());
      return false;
    }
    headers.merge(launchHeadersOf(textOf(source)));
  }
  std::string all;
  for (auto& [name, text] : headers) {
    all += text;
    text = "#include \"launches.h\"\n" + text;
  }
  headers["launches.h"] =
      "// A digest of the other headers here: " + std::to_string(std::hash<std::string>()(all)) +
      "\n";
  if (!makeFolder(options.output))
    return false;
  for (const auto& [name, text] : headers) {
    fs::path file = fs::path(options.output) / name;
    if (textOf(file) == text)
      continue; // who depends on it need not be built again
    if (!writeFile(file, text))
      return false;
  }
  return true;
}

bool Builder::link() {
  Command c = {compiler};
  if (isClang && inPath("ld.lld-22"))
    c.push_back("--ld-path=ld.lld-22");
  if (options.onlyCompile)
    c.insert(c.end(), {"-r", "-nostdlib"});
  else if (options.shared)
    c.push_back("-shared");
  // The program that loads it may have a kernel of the same name.
  if (options.kernelObject)
    c.push_back("-Wl,-Bsymbolic");
  c.insert(c.end(), objects.begin(), objects.end());
  if (!options.onlyCompile) {
    c.push_back("-L" + library.parent_path().string()); // ascendcl, nnopbase and opapi
    c.insert(c.end(), options.linkFlags.begin(), options.linkFlags.end());
    // The aclnn operators are linked only into programs that call one.
    fs::path operators = library.parent_path() / "libtilewright_operators.so";
    if (isThere(operators))
      c.insert(c.end(), {"-Wl,--as-needed", operators, "-Wl,--no-as-needed"});
    c.insert(c.end(), {library, "-Wl,-rpath," + library.parent_path().string(), "-lpthread"});
    for (const std::string& f : options.compileFlags)
      if (f.starts_with("-fsanitize"))
        c.push_back(f);
  }
  c.insert(c.end(), {"-o", options.output});
  return runAll({c}, options.verbose) && (!options.kernelObject || sealOutput());
}

bool Builder::sealOutput() const {
  ascend::ObjectSeal seal = ascend::sealOf(textOf(options.output));
  std::ofstream out(options.output, std::ios::binary | std::ios::app);
  out.write(reinterpret_cast<const char*>(&seal), sizeof seal);
  out.close();
  if (!out)
    fprintf(stderr, "error: cannot write '%s'\n", options.output.c_str());
  return static_cast<bool>(out);
}

int Builder::run() {
  if (work.empty())
    return 1;
  if (options.onlyLaunchHeaders)
    return publishLaunchHeaders() ? 0 : 1;
  if (!findCompiler() || !findInstallation())
    return 1;
  if (!writeLaunchHeaders())
    return 1;
  for (size_t i = 0; i < options.sources.size(); ++i)
    if (!compileSource(options.sources[i], i))
      return 1;
  return link() ? 0 : 1;
}

} // namespace tilewright::ascendc
