// SPDX-License-Identifier: Apache-2.0
#include "simulator/sync/advice.h"
#include "simulator/sync/core_hazards.h"

#include <string_view>

namespace tilewright::ascend {
namespace {

std::string shortOf(Pipe pipe) {
  return pipeShort[static_cast<unsigned>(pipe)];
}

/// As the language names it: "mte2".
std::string quoted(Pipe pipe) {
  std::string name = shortOf(pipe);
  for (char& letter : name)
    if (letter >= 'A' && letter <= 'Z')
      letter = static_cast<char>(letter - 'A' + 'a');
  return '"' + name + '"';
}

} // namespace

Advice::Advice(const Place& place) {
  const std::string_view file = place.file, python = ".py";
  isPython = file.size() > python.size() && file.substr(file.size() - python.size()) == python;
}

std::string Advice::barrier(Pipe pipe) const {
  return isPython ? "T.pipe_barrier(" + quoted(pipe) + ")"
                  : std::string("PipeBarrier<") + pipeNames[static_cast<unsigned>(pipe)] + ">()";
}

std::string Advice::barrierOfAll() const {
  return isPython ? "T.barrier_all()" : "PipeBarrier<PIPE_ALL>()";
}

std::string Advice::event(const char* python, const char* ascendC, Pipe from, Pipe to,
                          const std::string& id) const {
  if (isPython)
    return std::string(python) + "(" + quoted(from) + ", " + quoted(to) + ", " + id + ")";
  return std::string(ascendC) + "<HardEvent::" + shortOf(from) + "_" + shortOf(to) + ">(" + id +
         ")";
}

std::string Advice::setFlag(Pipe from, Pipe to, const std::string& id) const {
  return event("T.set_flag", "SetFlag", from, to, id);
}

std::string Advice::waitFlag(Pipe from, Pipe to, const std::string& id) const {
  return event("T.wait_flag", "WaitFlag", from, to, id);
}

std::string Advice::setCrossFlag(unsigned mode, Pipe pipe, const std::string& id) const {
  const std::string number = std::to_string(mode);
  if (!isPython)
    return "CrossCoreSetFlag<" + number + ", " + pipeNames[static_cast<unsigned>(pipe)] + ">(" +
           id + ")";
  const bool isUsual = mode == 2; // between the kinds of core
  return "T.set_cross_flag(" + quoted(pipe) + ", " + id + (isUsual ? "" : ", mode=" + number) + ")";
}

std::string Advice::waitCrossFlag(const std::string& id) const {
  return (isPython ? "T.wait_cross_flag(" : "CrossCoreWaitFlag(") + id + ")";
}

} // namespace tilewright::ascend
