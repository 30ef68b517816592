// The program of a library whose ranks are threads of one process: `PROGRAM DIRECTORY`.
#pragma once

#include <functional>
#include <memory>

#include "driver.h"

namespace bench {

// Makes a rank's library, on the thread of that rank. The ranks share what it holds.
using MakeRank = std::function<std::unique_ptr<Library>(int rank)>;

// For main(): measures the job of the directory. `prepare` is called once, before the threads are
// there, and may throw.
int measure_threads(int argc, char** argv, const std::function<MakeRank(const Job&)>& prepare);

}  // namespace bench
