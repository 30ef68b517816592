// Changes one thing in every built-in plan, proves what comes of it, and runs what is proved: it
// must give the right result. What crashes or hangs costs a child process, not the run.
//
//   weft_mutants [--each N] [--one-in N] [--algorithm NAME] [--ranks N] [--out FILE]
//
// --each: mutants of a kind and plan (4). --one-in: every Nth of them only (1). --out: adds a JSON
// line for each plan, and leaves out the plans that have one. Says on stderr what was wrong; exits
// with 1 if anything was.
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "algorithms/registry.h"
#include "mutants/mutate.h"
#include "mutants/team.h"
#include "weft/error.h"
#include "weft/registry.h"
#include "weft/verify.h"

namespace weft::mutants {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  int each = 4;
  std::uint64_t one_in = 1;
  std::string algorithm;
  int ranks = 0;
  std::string out;
};

struct Mutant {
  std::size_t kind;
  Plan plan;
};

// What becomes of a mutant. kEnds are of the child process.
enum class End { kRefused, kRight, kWrong, kHung, kCrashed };
constexpr const char* kEnds[] = {"refused", "right", "wrong", "hung", "crashed"};

struct Subject {
  Algorithm algorithm;
  Plan plan;
  std::string name;  // "reduce_scatter/two_level(node=2)"
};

// ------------------------------------------------------------------ what there is to do

std::vector<Params> params_for(const Algorithm& algorithm, int ranks) {
  std::vector<Params> all = {{}, {{"node", 2}}};
  for (Params& params : all)
    if (make_plan(algorithm.name, ranks).shape.params.contains("root")) params["root"] = ranks / 2;
  if (!make_plan(algorithm.name, ranks).shape.params.contains("node") || ranks < 4) all.pop_back();
  return all;
}

std::vector<Subject> subjects(const Options& options) {
  std::vector<Subject> subjects;
  for (const std::string& name : builtin_algorithm_names()) {
    if (!options.algorithm.empty() && name != options.algorithm) continue;
    const Algorithm algorithm = find_algorithm(name);
    for (int ranks : {2, 3, 4, 5, 8}) {
      if (options.ranks != 0 && ranks != options.ranks) continue;
      if (!refusal(algorithm, ranks, {}).empty()) continue;
      for (const Params& params : params_for(algorithm, ranks)) {
        if (!refusal(algorithm, ranks, params).empty()) continue;
        const std::string text = to_text(Choice{name, params, 0});
        subjects.push_back({algorithm, make_plan(name, ranks, params), text});
      }
    }
  }
  return subjects;
}

std::uint64_t seed_of(const std::string& text) {
  std::uint64_t seed = 0;
  for (char c : text) seed = Dice(seed ^ static_cast<unsigned char>(c)).next();
  return seed;
}

std::vector<Mutant> mutants_of(const Subject& subject, const Options& options) {
  std::vector<Mutant> mutants;
  std::set<Plan> seen = {subject.plan};
  const std::string of = subject.name + " " + std::to_string(subject.plan.shape.ranks) + " ";
  for (std::size_t kind = 0; kind < kinds().size(); ++kind)
    for (int number = 0; number < options.each; ++number) {
      Dice dice(seed_of(of + kinds()[kind].name + " " + std::to_string(number)));
      if (dice.next() % options.one_in != 0) continue;
      Plan plan = subject.plan;
      kinds()[kind].change(plan, dice);
      if (seen.insert(plan).second) mutants.push_back({kind, std::move(plan)});
    }
  return mutants;
}

// ------------------------------------------------------------------ the child

bool proved(const Plan& plan, const Claims& claims) {
  // Most are refused at a small size.
  for (int trips : {2, -1})
    if (!verify(plan, {trips, claims}).ok()) return false;
  return true;
}

void say(int pipe, std::size_t number, const std::string& what) {
  std::string line = std::to_string(number) + " " + what + "\n";
  if (::write(pipe, line.data(), line.size()) != static_cast<ssize_t>(line.size())) _exit(3);
}

[[noreturn]] void work(const Subject& subject, const std::vector<Mutant>& mutants,
                       std::size_t first, int pipe) {
  std::unique_ptr<Team> team;
  for (std::size_t i = first; i < mutants.size(); ++i) {
    say(pipe, i, "begins");
    if (!proved(mutants[i].plan, subject.algorithm.claims)) {
      say(pipe, i, "refused");
      continue;
    }
    if (!team) team = std::make_unique<Team>(subject.plan.shape.ranks);
    Verdict verdict = team->run(mutants[i].plan);
    std::replace(verdict.text.begin(), verdict.text.end(), '\n', ' ');
    const auto end = static_cast<std::size_t>(verdict.outcome) + 1;
    say(pipe, i, std::string(kEnds[end]) + " " + verdict.text);
    // Its memory may be another's by now.
    if (verdict.outcome != Outcome::kRight) team = nullptr;
  }
  team = nullptr;
  _exit(0);
}

// ------------------------------------------------------------------ the parent

struct Tally {
  std::map<std::size_t, std::map<std::string, int>> ends;  // by kind
  Json bad = Json::array();
};

void note(Tally& tally, const std::vector<Mutant>& mutants, std::size_t number,
          const std::string& end, const std::string& text) {
  const Mutant& mutant = mutants[number];
  ++tally.ends[mutant.kind][end];
  if (end == kEnds[0] || end == kEnds[1]) return;
  const char* kind = kinds()[mutant.kind].name;
  std::fprintf(stderr, "%s: %s: %s\n%s\n", end.c_str(), kind, text.c_str(),
               to_text(mutant.plan).c_str());
  tally.bad.push_back({{"kind", kind}, {"end", end}, {"text", text}});
}

// Runs a child from mutant `first` on. Returns the number of the first that it has not done.
std::size_t supervise(const Subject& subject, const std::vector<Mutant>& mutants, std::size_t first,
                      Tally& tally) {
  constexpr int kPatience = 300 * 1000;
  int ends[2];
  if (pipe(ends) != 0) throw InternalError("pipe");
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    work(subject, mutants, first, ends[1]);
  }
  close(ends[1]);
  std::string text;
  std::size_t at = first;
  bool silent = false;
  for (char buffer[4096];;) {
    pollfd wait{ends[0], POLLIN, 0};
    silent = poll(&wait, 1, kPatience) == 0;
    const ssize_t got = silent ? 0 : read(ends[0], buffer, sizeof buffer);
    if (got <= 0) break;
    text.append(buffer, static_cast<std::size_t>(got));
    for (std::size_t end; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1)) {
      std::istringstream line(text.substr(0, end));
      std::string what, rest;
      line >> at >> what;
      std::getline(line, rest);
      if (what != "begins") note(tally, mutants, at++, what, rest);
    }
  }
  close(ends[0]);
  if (silent) kill(child, SIGKILL);
  int status = 0;
  waitpid(child, &status, 0);
  if (status == 0 && at == mutants.size()) return at;
  note(tally, mutants, at, silent ? kEnds[3] : kEnds[4],
       silent ? "silent for five minutes" : "status " + std::to_string(status));
  return at + 1;
}

Json row_of(const Subject& subject, const Tally& tally) {
  Json kinds_of = Json::object();
  for (const auto& [kind, ends] : tally.ends) {
    Json& row = kinds_of[kinds()[kind].name];
    for (const char* end : kEnds)
      if (ends.contains(end)) row[end] = ends.at(end);
  }
  return {{"plan", subject.name},
          {"ranks", subject.plan.shape.ranks},
          {"kinds", kinds_of},
          {"bad", tally.bad}};
}

// The plans that a file has lines of.
std::set<std::pair<std::string, int>> done_in(const std::string& file) {
  std::set<std::pair<std::string, int>> done;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const Json row = Json::parse(line);
    done.emplace(row["plan"].get<std::string>(), row["ranks"].get<int>());
  }
  return done;
}

bool test(const Subject& subject, const Options& options, std::map<std::string, int>& totals) {
  const std::vector<Mutant> mutants = mutants_of(subject, options);
  Tally tally;
  for (std::size_t at = 0; at < mutants.size();) at = supervise(subject, mutants, at, tally);
  for (const auto& [kind, ends] : tally.ends)
    for (const auto& [end, count] : ends) totals[end] += count;
  if (!options.out.empty())
    std::ofstream(options.out, std::ios::app) << row_of(subject, tally) << "\n";
  return tally.bad.empty();
}

Options parse(int argc, char** argv) {
  Options options;
  if (argc % 2 == 0) {
    std::fprintf(stderr,
                 "usage: %s [--each N] [--one-in N] [--algorithm NAME] [--ranks N] "
                 "[--out FILE]\n",
                 argv[0]);
    std::exit(2);
  }
  for (int i = 1; i < argc; i += 2) {
    const std::string name = argv[i], value = argv[i + 1];
    if (name == "--each")
      options.each = std::stoi(value);
    else if (name == "--one-in")
      options.one_in = std::stoull(value);
    else if (name == "--algorithm")
      options.algorithm = value;
    else if (name == "--ranks")
      options.ranks = std::stoi(value);
    else if (name == "--out")
      options.out = value;
    else
      throw InvalidArgument("no option " + name);
  }
  return options;
}

int run(const Options& options) {
  const auto done = done_in(options.out);
  std::map<std::string, int> totals;
  bool right = true;
  for (const Subject& subject : subjects(options))
    if (!done.contains({subject.name, subject.plan.shape.ranks}))
      right = test(subject, options, totals) && right;
  for (const char* end : kEnds) std::printf("%s %d  ", end, totals[end]);
  std::printf("\n");
  return right ? 0 : 1;
}

}  // namespace
}  // namespace weft::mutants

int main(int argc, char** argv) { return weft::mutants::run(weft::mutants::parse(argc, argv)); }
