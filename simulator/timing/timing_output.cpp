// SPDX-License-Identifier: Apache-2.0
#include "simulator/timing/timing_output.h"

#include "simulator/timing/timeline_page.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

namespace tilewright::ascend {
namespace {

/// For JSON inside a page too: `<` is escaped, so that no text can close the script.
std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (char c : text) {
    char code[8];
    if (c == '"' || c == '\\')
      (result += '\\') += c;
    else if (static_cast<unsigned char>(c) < 0x20 || c == '<') {
      std::snprintf(code, sizeof code, "\\u%04x",
                    static_cast<unsigned>(static_cast<unsigned char>(c)));
      result += code;
    } else
      result += c;
  }
  return result + "\"";
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f", value);
  return text;
}

const char* cubeName(CubeOp op) {
  switch (op) {
  case CubeOp::Mmad:
    return "Mmad";
  case CubeOp::Fixpipe:
    return "Fixpipe";
  case CubeOp::Fill:
    return "Fill";
  case CubeOp::LoadBias:
    return "LoadBias";
  default:
    return "LoadData";
  }
}

/// What an operation is, where its site does not say.
std::string operationName(const TraceEvent& event, const TimedCore& core) {
  if (core.lines && event.site < core.lines->size() && !(*core.lines)[event.site].what.empty())
    return (*core.lines)[event.site].what;
  if (event.kind == TraceKind::Cube)
    return cubeName(CubeOp(event.op));
  if (event.kind == TraceKind::Copy)
    return std::string("copy ") + spaceLabel(event.from) + "->" + spaceLabel(event.to);
  return "vector";
}

std::string sourceLine(const TraceEvent& event, const TimedCore& core) {
  if (!core.lines || event.site >= core.lines->size() || (*core.lines)[event.site].file.empty())
    return "";
  const TimedLine& line = (*core.lines)[event.site];
  return line.file + ":" + std::to_string(line.line);
}

/// Cores in the order in which their operations are kept: the one that ends last first, then those
/// on the critical path.
std::vector<size_t> coresByInterest(const TimingReport& report) {
  const auto& cores = report.cores;
  size_t last = 0;
  for (size_t core = 1; core < cores.size(); ++core)
    if (cores[core].endCycle > cores[last].endCycle)
      last = core;
  std::vector<size_t> order, others;
  for (size_t i = 0; i < cores.size(); ++i) {
    const size_t core = (last + i) % cores.size();
    const auto& operations = cores[core].operations;
    const bool isCritical = std::any_of(operations.begin(), operations.end(),
                                        [](const auto& operation) { return operation.isCritical; });
    (i == 0 || isCritical ? order : others).push_back(core);
  }
  order.insert(order.end(), others.begin(), others.end());
  return order;
}

/// Slices of one track of a trace may not overlap in part (Perfetto drops those that do), and instructions of a pipe run
/// together: each goes to the first lane that is free.
struct Lanes {
  std::vector<int64_t> ends;
  size_t take(int64_t start, int64_t end) {
    auto lane = std::find_if(ends.begin(), ends.end(), [&](int64_t last) { return last <= start; });
    if (lane == ends.end())
      lane = ends.insert(ends.end(), end);
    *lane = end;
    return size_t(lane - ends.begin());
  }
};

/// As a trace says it: what is rounded apart would overlap.
int64_t nanoseconds(const TimingReport& report, double cycles) {
  return std::llround(report.microseconds(cycles) * 1000);
}

std::string threadNumber(Pipe pipe, size_t lane) {
  constexpr size_t lanesPerPipe = 1000;
  return std::to_string(size_t(pipe) * lanesPerPipe + lane);
}

std::string of(const std::string& kernel) {
  return kernel.empty() ? "" : " of " + kernel;
}

/// `"name":value` pairs of an object.
template <class Map, class Value> std::string object(const Map& map, Value value) {
  std::string json;
  for (const auto& [name, each] : map)
    json += (json.empty() ? "" : ",") + quoted(name) + ":" + value(each);
  return "{" + json + "}";
}

std::string pipesJson(const TimingReport& report, const CoreTime& core) {
  std::string json;
  for (unsigned pipe = 0; pipe < numPipes; ++pipe) {
    const PipeTime& time = core.pipes[pipe];
    if (time.busyCycles == 0 && time.operations == 0)
      continue;
    json += std::string(json.empty() ? "" : ",") + "\"" + pipeLabel(Pipe(pipe)) +
            "\":{\"busy_us\":" + number(report.microseconds(time.busyCycles)) +
            ",\"operations\":" + std::to_string(time.operations) + ",\"waits_us\":" +
            object(time.stallCycles,
                   [&](double cycles) { return number(report.microseconds(cycles)); }) +
            "}";
  }
  return "{" + json + "}";
}

/// Of one kind of core, with its pipes.
std::string kindJson(const TimingReport& report, const KindTime& kind) {
  std::string pipes;
  for (unsigned pipe = 0; pipe < numPipes; ++pipe)
    if (const PipeUse& use = kind.pipes[pipe]; use.users > 0)
      pipes += std::string(pipes.empty() ? "\"" : ",\"") + pipeLabel(Pipe(pipe)) +
               "\":{\"busy_us\":" + number(use.busyMicroseconds) +
               ",\"share\":" + number(use.share) + ",\"cores\":" + std::to_string(use.users) +
               ",\"waits_us\":" + object(use.waitMicroseconds, number) + "}";
  return "\"" + std::string(kind.name()) + "\":{\"cores\":" + std::to_string(kind.launched) +
         ",\"cores_of_chip\":" + std::to_string(kind.ofChip) +
         ",\"core_us\":" + number(kind.microseconds) +
         ",\"last\":" + quoted(report.cores[kind.last].name) + ",\"pipes\":{" + pipes + "}}";
}

std::string pathSharesJson(const CoreTime& core) {
  std::map<std::string, double> shares;
  for (const auto& [path, cycles] : core.leastCyclesByPath)
    shares[path] = core.shareOfPath(path);
  return object(shares, [](double share) { return number(share); });
}

} // namespace

std::string timingJson(const TimingReport& report) {
  std::string kinds, cores;
  for (const KindTime& kind : report.kinds())
    kinds += (kinds.empty() ? "" : ",") + kindJson(report, kind);
  for (const CoreTime& core : report.cores)
    cores += (cores.empty() ? "\n" : ",\n") + std::string("{\"name\":") + quoted(core.name) +
             ",\"kind\":\"" + (core.isCube ? "cube" : "vector") +
             "\",\"start_us\":" + number(report.microseconds(core.startCycle)) +
             ",\"end_us\":" + number(report.microseconds(core.endCycle)) +
             ",\"pipes\":" + pipesJson(report, core) + ",\"bytes\":" +
             object(core.bytesByPath, [](uint64_t bytes) { return std::to_string(bytes); }) +
             ",\"path_limits\":" + pathSharesJson(core) + "}";
  return "{\"kernel\":" + quoted(report.kernel) + ",\"chip\":" + quoted(report.chip) +
         ",\"clock_mhz\":" + number(report.clockMHz) +
         ",\"task_us\":" + number(report.taskMicroseconds) +
         ",\"limits\":" + object(report.limitShares, [](double share) { return number(share); }) +
         ",\"stuck\":" + quoted(report.stuck) + ",\"kinds\":{" + kinds + "},\"cores\":[" + cores +
         "]}\n";
}

std::string chromeTrace(const TimingReport& report, const std::vector<TimedCore>& cores) {
  const std::string kernel = report.kernelName();
  std::string json = "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"kernel\":" + quoted(kernel) +
                     ",\"chip\":" + quoted(report.chip) + "},\"traceEvents\":[\n";
  for (size_t core = 0; core < report.cores.size(); ++core) {
    const std::string process = std::to_string(core);
    json += "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":" + process +
            ",\"args\":{\"name\":" + quoted(report.cores[core].name + of(kernel)) + "}},\n";
    Lanes lanes[numPipes];
    std::string slices;
    for (const TimedOperation& operation : report.cores[core].operations) {
      const TraceEvent& event = (*cores[core].trace)[operation.event];
      const int64_t start = nanoseconds(report, operation.start);
      const int64_t end = std::max(start, nanoseconds(report, operation.end));
      const size_t lane = lanes[unsigned(operation.pipe)].take(start, end);
      slices += "{\"ph\":\"X\",\"name\":" + quoted(operationName(event, cores[core])) +
                ",\"pid\":" + process + ",\"tid\":" + threadNumber(operation.pipe, lane) +
                ",\"ts\":" + number(double(start) / 1000) +
                ",\"dur\":" + number(double(end - start) / 1000) +
                ",\"args\":{\"line\":" + quoted(sourceLine(event, cores[core])) +
                ",\"bytes\":" + std::to_string(event.bytes) +
                ",\"critical\":" + (operation.isCritical ? "true" : "false") + "}},\n";
    }
    for (unsigned pipe = 0; pipe < numPipes; ++pipe)
      for (size_t lane = 0; lane < lanes[pipe].ends.size(); ++lane)
        json += "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":" + process +
                ",\"tid\":" + threadNumber(Pipe(pipe), lane) + ",\"args\":{\"name\":\"" +
                pipeLabel(Pipe(pipe)) + "\"}},\n";
    json += slices;
  }
  json += "{\"ph\":\"M\",\"name\":\"trace_name\",\"pid\":0,\"args\":{\"name\":" +
          quoted(report.chip + of(kernel)) + "}}\n]}\n";
  return json;
}

std::string timelinePage(const TimingReport& report, const std::vector<TimedCore>& cores,
                         size_t mostOperations) {
  std::map<std::string, size_t> textNumbers;
  std::string texts;
  auto textNumber = [&](const std::string& text) {
    auto [found, isNew] = textNumbers.emplace(text, textNumbers.size());
    if (isNew)
      texts += (found->second ? "," : "") + quoted(text);
    return found->second;
  };
  std::string lanes;
  size_t kept = 0;
  size_t total = 0;
  for (const CoreTime& core : report.cores)
    total += core.operations.size();
  for (size_t core : coresByInterest(report)) {
    const CoreTime& time = report.cores[core];
    if (kept > 0 && kept + time.operations.size() > mostOperations)
      break;
    for (unsigned pipe = 0; pipe < numPipes; ++pipe) {
      std::string bars;
      for (const TimedOperation& operation : time.operations) {
        if (unsigned(operation.pipe) != pipe || kept >= mostOperations)
          continue;
        const TraceEvent& event = (*cores[core].trace)[operation.event];
        bars += (bars.empty() ? "" : ",") + number(report.microseconds(operation.start)) + "," +
                number(report.microseconds(operation.end)) + "," +
                (operation.isCritical ? "1," : "0,") +
                std::to_string(textNumber(operationName(event, cores[core]))) + "," +
                std::to_string(textNumber(sourceLine(event, cores[core]))) + "," +
                std::to_string(event.bytes);
        ++kept;
      }
      if (!bars.empty())
        lanes +=
            (lanes.empty() ? "" : ",\n") + ("{\"core\":" + quoted(time.name) + ",\"pipe\":\"" +
                                            pipeLabel(Pipe(pipe)) + "\",\"bars\":[" + bars + "]}");
    }
  }
  std::string page = timelineHead;
  page += "const title=" +
          quoted((report.kernel.empty() ? "" : report.kernelName() + " on ") + report.chip +
                 ": task " + number(report.taskMicroseconds) + " us, " + std::to_string(kept) +
                 " of " + std::to_string(total) + " instructions") +
          ";\nconst texts=[" + texts + "];\nconst lanes=[" + lanes + "];\n";
  return page + timelineTail;
}

} // namespace tilewright::ascend
