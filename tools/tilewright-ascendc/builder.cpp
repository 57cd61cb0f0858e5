// SPDX-License-Identifier: Apache-2.0
#include "builder.h"
#include "header_tree.h"
#include "object_file.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cxxabi.h>
#include <fstream>
#include <set>
#include <sstream>
#include <unistd.h>

namespace tilewright::ascendc {

namespace fs = std::filesystem;

namespace {

const char* const passNames[3] = {"host", "aic", "aiv"};

std::string readAll(const std::string& path, bool& found) {
  std::ifstream in(path, std::ios::binary);
  found = static_cast<bool>(in);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

bool inPath(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::stringstream folders(path ? path : "");
  std::string folder;
  while (std::getline(folders, folder, ':'))
    if (access((folder + "/" + program).c_str(), X_OK) == 0)
      return true;
  return program.find('/') != std::string::npos && access(program.c_str(), X_OK) == 0;
}

/// `ns::k<int>(unsigned char*)` is a kernel called `k`.
std::string plainName(const std::string& symbol) {
  int status = 0;
  char* text = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status);
  if (!text)
    return symbol;
  std::string name(text);
  std::free(text);
  const std::string unnamed = "(anonymous namespace)::";
  for (size_t at; (at = name.find(unnamed)) != std::string::npos;)
    name.erase(at, unnamed.size());
  std::string kept;
  int depth = 0;
  for (char c : name) {
    if (c == '(' && depth == 0)
      break;
    depth += (c == '<') - (c == '>');
    if (c != '>' && depth == 0)
      kept += c;
  }
  size_t cut = kept.find_last_of(": ");
  return cut == std::string::npos ? kept : kept.substr(cut + 1);
}

bool uses(const ObjectSymbols& symbols, const char* function) {
  return std::any_of(symbols.undefined.begin(), symbols.undefined.end(),
                     [&](const std::string& s) { return s.find(function) != std::string::npos; });
}

} // namespace

/// A pass whose core no kernel of the source uses is left out.
std::vector<Builder::Pass> Builder::passesOf(const RewrittenSource& rewritten) {
  if (!rewritten.includesKernelOperator)
    return {Host};
  constexpr std::array<bool, 6> usesCube = {false, true, false, true, true, true};
  constexpr std::array<bool, 6> usesVector = {true, false, true, false, true, true};
  bool cube = rewritten.kernels.empty(), vector = cube;
  for (const auto& [name, kind] : rewritten.kernels) {
    cube = cube || kind < 0 || usesCube[static_cast<size_t>(kind)];
    vector = vector || kind < 0 || usesVector[static_cast<size_t>(kind)];
  }
  std::vector<Pass> passes;
  if (cube)
    passes.push_back(Cube);
  if (vector)
    passes.push_back(Vector);
  passes.push_back(Host);
  return passes;
}

Builder::Builder(const Options& options) : options(options) {
  std::string pattern = fs::temp_directory_path() / "tilewright-ascendc-XXXXXX";
  work = mkdtemp(pattern.data()) ? pattern : "";
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
  if (!fs::exists(headers))
    headers = fs::path(TILEWRIGHT_SOURCE_FOLDER) / "simulator" / "ascendc";
  aclHeaders = headers.parent_path() / "include";
  for (const fs::path& p : {library, headers / "kernel_operator.h"})
    if (!fs::exists(p)) {
      fprintf(stderr, "error: '%s' is missing; build or install the simulator\n", p.c_str());
      return false;
    }
  return true;
}

std::vector<std::string> Builder::passFlags(Pass pass) const {
  std::vector<std::string> flags = {"-std=c++17", "-fPIC", "-O1", "-Wno-unknown-pragmas",
                                    "-fno-strict-aliasing"};
  if (!isClang)
    flags.push_back("-fno-gnu-unique");
  else
    flags.insert(flags.end(), {"-Wno-unknown-attributes", "-Wno-gnu-line-marker"});
  flags.push_back("-ffp-contract=off");
  if (pass == Cube)
    flags.insert(flags.end(), {"-D__DAV_CUBE__=1", "-D__DAV_C220_CUBE__=1"});
  if (pass == Vector)
    flags.insert(flags.end(), {"-D__DAV_VEC__=1", "-D__DAV_C220_VEC__=1"});
  // Lines and frame pointers, so that a fault or an endless loop has a place. A large array must not
  // reach beyond the guard of the stack, and what uses a null pointer must stay.
  if (pass != Host)
    flags.insert(flags.end(),
                 {"-D__CCE_AICORE__=220", "-D__NPU_DEVICE__=1", "-g1", "-fno-omit-frame-pointer",
                  "-fstack-clash-protection", "-fno-delete-null-pointer-checks"});
  for (const char* d : {"-D__NPU_ARCH__=2201", "-DTILEWRIGHT_ASCEND=1"})
    flags.push_back(d);
  flags.push_back("-I" + headers.string());
  flags.push_back("-I" + aclHeaders.string());
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

/// Changes when the compiler or the system's headers are replaced: their files' and folders' times.
std::string Builder::toolchainStamp() const {
  std::string text;
  auto add = [&](const fs::path& path) {
    std::error_code error;
    auto time = fs::last_write_time(path, error);
    if (!error)
      text += path.string() + std::to_string(time.time_since_epoch().count());
  };
  const char* path = std::getenv("PATH");
  std::stringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::error_code error;
    fs::path program = fs::canonical(fs::path(folder) / compiler, error);
    if (!error) {
      add(program);
      break;
    }
  }
  std::error_code error;
  add("/usr/include");
  for (const auto& entry : fs::directory_iterator("/usr/include/c++", error))
    add(entry.path());
  return text;
}

/// What every kernel's translation unit includes. Written once: a precompiled header is refused if
/// its source is newer, so of several processes only the first may write it.
static void writePrefix(const fs::path& path) {
  const fs::path mine = path.string() + "." + std::to_string(getpid());
  std::ofstream(mine)
      << "#include <algorithm>\n#include <cmath>\n#include <cstdint>\n#include <cstdio>\n"
         "#include <cstdlib>\n#include <cstring>\n#include <fstream>\n#include <iostream>\n"
         "#include <memory>\n#include <string>\n#include <vector>\n"
         "#include \"kernel_operator.h\"\n#include \"acl/acl.h\"\n";
  std::error_code error;
  fs::create_hard_link(mine, path, error); // fails if the path exists, which is as good
  fs::remove(mine, error);
}

bool Builder::preparePrecompiled() {
  if (options.noPch)
    return true;
  const char* cacheHome = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  fs::path cache = cacheHome ? fs::path(cacheHome) : fs::path(home ? home : "/tmp") / ".cache";
  cache /= "tilewright/ascendc";
  // The key holds what the result depends on: the headers' times (ours and the system's), the
  // compiler, the flags.
  std::string text = compiler + toolchainStamp();
  for (const fs::path& folder :
       {headers, headers.parent_path() / "isa", aclHeaders, headers.parent_path() / "machine"})
    for (const auto& entry : fs::recursive_directory_iterator(folder))
      if (entry.path().extension() == ".h")
        text += entry.path().string() +
                std::to_string(entry.last_write_time().time_since_epoch().count());
  std::error_code missing;
  auto launchTime = fs::last_write_time(headers.parent_path() / "launch.h", missing);
  text += std::to_string(launchTime.time_since_epoch().count());
  std::vector<Command> commands;
  std::vector<std::pair<fs::path, fs::path>> fresh;
  for (Pass pass : {Host, Cube, Vector}) {
    std::string key = text;
    for (const std::string& f : passFlags(pass))
      if (!f.starts_with("-I") || f.find("tilewright") == std::string::npos)
        key += " " + f;
    char name[32];
    snprintf(name, sizeof name, "%016zx", std::hash<std::string>{}(key));
    fs::path folder = cache / name;
    fs::path result = folder / (isClang ? "prefix.pch" : "prefix.h.gch");
    pch[pass] = isClang ? result : folder / "prefix.h";
    if (fs::exists(result))
      continue;
    std::error_code error;
    fs::create_directories(folder, error);
    writePrefix(folder / "prefix.h");
    fs::path temporary = result.string() + "." + std::to_string(getpid());
    Command c = {compiler, "-x", "c++-header"};
    auto flags = passFlags(pass);
    c.insert(c.end(), flags.begin(), flags.end());
    c.insert(c.end(), {folder / "prefix.h", "-o", temporary});
    commands.push_back(c);
    fresh.emplace_back(temporary, result);
  }
  if (!runAll(commands, options.verbose))
    return false;
  for (auto& [from, to] : fresh)
    fs::rename(from, to);
  return true;
}

Command Builder::compileCommand(Pass pass, const std::string& from, const std::string& source,
                                const std::string& to) {
  Command c = {compiler};
  if (!pch[pass].empty()) {
    if (isClang)
      c.insert(c.end(), {"-include-pch", pch[pass]});
    else
      c.insert(c.end(), {"-include", pch[pass]});
  }
  auto flags = passFlags(pass);
  c.insert(c.end(), flags.begin(), flags.end());
  c.insert(c.end(), {"-iquote", fs::absolute(source).parent_path(), "-Wno-unused-parameter", "-x",
                     "c++", "-c", from, "-o", to});
  return c;
}

bool Builder::compilePlain(const std::string& source, const std::string& object) {
  Command c = {compiler};
  auto flags = passFlags(Host);
  c.insert(c.end(), flags.begin(), flags.end());
  c.insert(c.end(), {"-x", "c++", "-c", source, "-o", object});
  return runAll({c}, options.verbose);
}

bool Builder::compileSource(const std::string& source, size_t index) {
  bool found = false;
  std::string text = readAll(source, found);
  if (!found) {
    fprintf(stderr, "error: cannot read '%s'\n", source.c_str());
    return false;
  }
  fs::path copies = work / ("headers" + std::to_string(index));
  fs::create_directories(copies);
  RewrittenSource rewritten = HeaderTree(includeFolders(), copies).rewriteAll(text, source);
  for (const std::string& e : rewritten.errors)
    fprintf(stderr, "%s\n", e.c_str());
  if (!rewritten.errors.empty())
    return false;
  std::string stem = work / ("source" + std::to_string(index));
  if (!rewritten.includesKernelOperator && !rewritten.hasLaunches && rewritten.kernels.empty()) {
    objects.push_back(stem + ".host.o");
    return compilePlain(source, objects.back());
  }
  if (pch[0].empty() && rewritten.includesKernelOperator && !preparePrecompiled())
    return false;
  if (!rewritten.includesKernelOperator)
    rewritten.host = "#include \"ascendc/launch.h\"\n" + rewritten.host;
  std::vector<Command> commands;
  std::string made[3];
  std::vector<Pass> passes = passesOf(rewritten);
  for (Pass pass : passes) {
    std::string from = stem + "." + passNames[pass] + ".cpp";
    made[pass] = stem + "." + passNames[pass] + ".o";
    std::ofstream(from) << (pass == Host ? rewritten.host : rewritten.device);
    commands.push_back(compileCommand(pass, from, source, made[pass]));
  }
  if (!runAll(commands, options.verbose))
    return false;
  for (Pass pass : passes)
    objects.push_back(made[pass]);
  if (passes.size() == 1)
    return true;
  std::string table = stem + ".table.o";
  if (!makeTable(rewritten, made, table))
    return false;
  if (fs::exists(table))
    objects.push_back(table);
  return true;
}

bool Builder::publishLocalKernels(const RewrittenSource& rewritten, const std::string made[3],
                                  ObjectSymbols symbols[3]) {
  std::set<std::string> kernels;
  for (const std::string& name : symbols[Host].localFunctions)
    if (rewritten.kernels.count(plainName(name)))
      kernels.insert(name);
  if (kernels.empty())
    return true;
  // Another source may have a kernel of the same name.
  char suffix[32];
  snprintf(suffix, sizeof suffix, "$%016zx",
           std::hash<std::string>{}(fs::absolute(options.output).string() +
                                    fs::path(made[Host]).filename().string()));
  for (Pass pass : {Host, Cube, Vector}) {
    if (made[pass].empty())
      continue;
    std::string error = publish(made[pass], kernels, suffix);
    if (error.empty()) {
      symbols[pass] = readSymbols(made[pass]);
      error = symbols[pass].error;
    }
    if (!error.empty()) {
      fprintf(stderr, "error: %s\n", error.c_str());
      return false;
    }
  }
  return true;
}

bool Builder::makeTable(const RewrittenSource& rewritten, const std::string made[3],
                        const std::string& table) {
  ObjectSymbols symbols[3];
  for (Pass pass : {Host, Cube, Vector}) {
    if (made[pass].empty())
      continue;
    symbols[pass] = readSymbols(made[pass]);
    if (!symbols[pass].error.empty()) {
      fprintf(stderr, "error: %s\n", symbols[pass].error.c_str());
      return false;
    }
  }
  if (!publishLocalKernels(rewritten, made, symbols))
    return false;
  bool cube = uses(symbols[Cube], "issueCube"), vector = uses(symbols[Vector], "issueVector");
  constexpr int aivOnly = 0, aicOnly = 1, mix12 = 5;
  int inferred = cube ? (vector ? mix12 : aicOnly) : aivOnly;
  std::set<std::string> inCube(symbols[Cube].functions.begin(), symbols[Cube].functions.end());
  std::set<std::string> inVector(symbols[Vector].functions.begin(),
                                 symbols[Vector].functions.end());
  std::string declarations, rows;
  size_t count = 0;
  for (const std::string& name : symbols[Host].functions) {
    auto kernel = rewritten.kernels.find(plainName(name.substr(0, name.find('$'))));
    if (kernel == rewritten.kernels.end())
      kernel = rewritten.kernels.find(""); // of a macro: any function may be one
    if (kernel == rewritten.kernels.end() || (!made[Cube].empty() && !inCube.count(name)) ||
        (!made[Vector].empty() && !inVector.count(name)))
      continue;
    std::string row = "{";
    for (Pass pass : {Host, Cube, Vector}) {
      if (made[pass].empty()) {
        row += "0, ";
        continue;
      }
      std::string variable = std::string(passNames[pass]) + std::to_string(count);
      std::string suffix = pass == Host ? "" : std::string("$") + passNames[pass];
      declarations += "extern char " + variable + "[] __asm__(\"" + name + suffix + "\");\n";
      row += variable + ", ";
    }
    int kind = kernel->second >= 0 ? kernel->second : inferred;
    rows += row + "\"" + name + "\", " + std::to_string(kind) + "},\n";
    ++count;
  }
  for (Pass pass : {Cube, Vector})
    if (made[pass].empty())
      continue;
    else if (auto e = privatise(made[pass], std::string("$") + passNames[pass]); !e.empty()) {
      fprintf(stderr, "error: %s\n", e.c_str());
      return false;
    }
  if (!count)
    return true;
  std::string source = table.substr(0, table.size() - 2) + ".c";
  std::ofstream(source)
      << declarations
      << "struct kernel { void *host, *aic, *aiv; const char* name; unsigned type; };\n"
         "static const struct kernel table[] = {\n"
      << rows
      << "};\nvoid registerKernels(const struct kernel*, const struct kernel*)\n"
         "  __asm__(\"_ZN10tilewright6ascend15registerKernelsEPKNS0_6KernelES3_\");\n"
         "void setDefaults(const char*) "
         "__asm__(\"_ZN10tilewright6ascend17setLaunchDefaultsEPKc\");\n"
         "__attribute__((constructor(101))) static void start(void) {\n"
         "  registerKernels(table, table + sizeof table / sizeof *table);\n"
      << (options.runDefaults.empty() ? "" : "  setDefaults(\"" + options.runDefaults + "\");\n")
      << "}\n";
  return runAll({{compiler, "-x", "c", "-fPIC", "-O1", "-c", source, "-o", table}},
                options.verbose);
}

bool Builder::link() {
  Command c = {compiler};
  if (isClang && inPath("ld.lld-22"))
    c.push_back("--ld-path=ld.lld-22");
  if (options.onlyCompile)
    c.insert(c.end(), {"-r", "-nostdlib"});
  else if (options.shared)
    c.push_back("-shared");
  c.insert(c.end(), objects.begin(), objects.end());
  if (!options.onlyCompile) {
    c.insert(c.end(), options.linkFlags.begin(), options.linkFlags.end());
    // The aclnn operators are linked only into programs that call one.
    fs::path operators = library.parent_path() / "libtilewright_operators.so";
    if (fs::exists(operators))
      c.insert(c.end(), {"-Wl,--as-needed", operators, "-Wl,--no-as-needed"});
    c.insert(c.end(), {library, "-Wl,-rpath," + library.parent_path().string(), "-lpthread"});
    for (const std::string& f : options.compileFlags)
      if (f.starts_with("-fsanitize"))
        c.push_back(f);
  }
  c.insert(c.end(), {"-o", options.output});
  return runAll({c}, options.verbose);
}

int Builder::run() {
  if (work.empty()) {
    fprintf(stderr, "error: cannot make a temporary folder\n");
    return 1;
  }
  if (!findCompiler() || !findInstallation())
    return 1;
  for (size_t i = 0; i < options.sources.size(); ++i)
    if (!compileSource(options.sources[i], i))
      return 1;
  return link() ? 0 : 1;
}

} // namespace tilewright::ascendc
