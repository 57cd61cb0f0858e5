// SPDX-License-Identifier: Apache-2.0
#include "options.h"

#include <cstdio>
#include <string_view>

namespace tilewright::ascendc {

const char* const usage =
    "usage: tilewright-ascendc build source... -o program [options]\n"
    "       tilewright-ascendc build --kernel source... -o kernel.o [options]\n"
    "       tilewright-ascendc compile source -o object.o [options]\n"
    "       tilewright-ascendc launch-headers source... -o folder\n"
    "\n"
    "Compiles Ascend C sources, host and kernel code, to a program for this machine.\n"
    "launch-headers writes aclrtlaunch_KERNEL.h of each kernel, for programs that launch them.\n"
    "  --cxx <compiler>      clang++-22 or g++-12 (default: the first that is there)\n"
    "  --no-check            the program starts without checks (TILEWRIGHT_ASCEND overrides)\n"
    "  --relaxed             the program starts with the orderings that the vendor's compiler "
    "adds\n"
    "  --time-only           the program prints its modelled time, without effects and checks\n"
    "  --shared              makes a shared library\n"
    "  --kernel              makes a kernel object for aclrtBinaryLoadFromFile\n"
    "  --precompile <header> keeps this header precompiled, too: name what all sources include\n"
    "  -v                    prints the commands\n"
    "  -h, --help            prints this\n"
    "Options as -I -D -O -g -std -W -f -l -L are handed on.\n"
    "The program reads its run-time options from TILEWRIGHT_ASCEND (docs/ascend-host.md).\n";

std::optional<Options> parseOptions(int argc, char** argv) {
  Options o;
  auto fail = [](const std::string& text) {
    fprintf(stderr, "error: %s\n%s", text.c_str(), usage);
    return std::nullopt;
  };
  if (argc < 2)
    return fail("no command");
  std::string_view command = argv[1];
  for (int i = 1; i < argc; ++i)
    if (std::string_view a = argv[i]; a == "--help" || a == "-h") {
      o.help = true;
      return o;
    }
  if (command == "compile")
    o.onlyCompile = true;
  else if (command == "launch-headers")
    o.onlyLaunchHeaders = true;
  else if (command != "build")
    return fail("unknown command '" + std::string(command) + "'");
  bool hasObjects = false;
  for (int i = 2; i < argc; ++i) {
    std::string_view a = argv[i];
    auto value = [&]() -> std::string { return i + 1 < argc ? argv[++i] : ""; };
    auto addDefault = [&](const char* name) {
      o.runDefaults += (o.runDefaults.empty() ? "" : ",") + std::string(name);
    };
    if (a == "-o")
      o.output = value();
    else if (a == "--cxx")
      o.compiler = value();
    else if (a == "--no-check")
      addDefault("no-check");
    else if (a == "--time-only")
      addDefault("time,time-only");
    else if (a == "--relaxed" || a == "--cce-auto-sync=on")
      addDefault("relaxed");
    else if (a == "--cce-auto-sync=off" || a == "--cce-disable-asc-reserved-ubuf")
      continue;
    else if (a == "--shared")
      o.shared = true;
    else if (a == "--kernel")
      o.shared = o.kernelObject = true;
    else if (a == "--precompile")
      o.precompile.push_back(value());
    else if (a == "--no-pch")
      o.noPch = true;
    else if (a == "--keep")
      o.keep = true;
    else if (a == "-v" || a == "--verbose")
      o.verbose = true;
    else if (a == "-I" || a == "-D" || a == "-isystem" || a == "-include") {
      o.compileFlags.emplace_back(a);
      o.compileFlags.push_back(value());
    } else if (a.starts_with("-l") || a.starts_with("-L") || a.starts_with("-Wl,"))
      o.linkFlags.emplace_back(a);
    else if (a.ends_with(".o") || a.ends_with(".a") || a.ends_with(".so")) {
      o.linkFlags.emplace_back(a);
      hasObjects = true;
    } else if (a.starts_with("--"))
      return fail("unknown option '" + std::string(a) + "'");
    else if (a.starts_with("-"))
      o.compileFlags.emplace_back(a);
    else
      o.sources.emplace_back(a);
  }
  if (o.sources.empty() && (o.onlyCompile || o.onlyLaunchHeaders || !hasObjects))
    return fail("no source");
  if (o.onlyCompile && o.sources.size() != 1)
    return fail("compile takes one source, but " + std::to_string(o.sources.size()) +
                " were given");
  if (o.kernelObject && (o.onlyCompile || o.sources.empty()))
    return fail("--kernel makes a kernel object of sources; it goes with build");
  if (o.onlyLaunchHeaders && o.output.empty())
    return fail("launch-headers needs a folder: -o folder");
  if (o.output.empty())
    o.output = o.onlyCompile || o.kernelObject ? o.sources[0] + ".o" : "a.out";
  return o;
}

} // namespace tilewright::ascendc
