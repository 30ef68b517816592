// The ways to copy, beside std::memcpy, on this processor. What it prints is what a row of
// src/base/shipped_models.cc is made from. Two free cores are needed.
//
//   own    one thread copies between two buffers, which stay in its caches if they fit
//   slot   one thread writes pieces into four slots in turn, which a thread on another core reads
//   fetch  the same; the ways are the reader's, which copies each piece into its own memory
//          The pieces of both are parts of a buffer, whose size is shown.
//
// The ways run in turns. A figure is the median of a way's turns, in GB/s: the copy alone, then of
// both threads together. `distance` is (dst - src) mod 4096.
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "kernels/copy.h"
#include "kernels/isa.h"
#include "kernels/strings.h"

namespace {

using namespace weft::kernels;
using Copy = std::function<void(void*, const void*, std::size_t)>;

struct Way {
  std::string name;
  Copy copy;
};

// `filling`: what copy() is told.
std::vector<Way> ways(Filling filling) {
  const CopyFn plain = available_isas().front().table->copy_plain;
  std::vector<Way> all = {
      {"memcpy", [](void* d, const void* s, std::size_t n) { std::memcpy(d, s, n); }},
      {"plain", plain},
      {"parts", available_isas().front().table->copy_parts},
      {"stream", available_isas().front().table->copy_stream},
      {"chosen", [filling](void* d, const void* s, std::size_t n) { copy(d, s, n, filling); }}};
#if defined(__x86_64__)
  for (const bool fetches : {false, true})
    all.push_back(
        {fetches ? "fetching" : "string", [plain, fetches](void* d, const void* s, std::size_t n) {
           copy_string(d, s, n, plain, fetches);
         }});
#endif
  return all;
}

double seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

void pin(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

constexpr std::size_t kSizes[] = {8,         64,      256,      512,      1 << 10,
                                  2 << 10,   4 << 10, 16 << 10, 32 << 10, 64 << 10,
                                  256 << 10, 1 << 20, 4 << 20,  25 << 20};
constexpr std::size_t kDistances[] = {0, 1, 16, 32, 48, 63, 64, 2048, 4095};
constexpr int kTurns = 15;

struct Memory {
  explicit Memory(std::size_t bytes) : data(static_cast<char*>(std::aligned_alloc(4096, bytes))) {
    std::memset(data, 1, bytes);
  }
  ~Memory() { std::free(data); }
  char* data;
};

void own(const std::vector<Way>& all, std::size_t bytes) {
  Memory src(bytes + 8192 - bytes % 4096), dst(bytes + 12288 - bytes % 4096);
  const std::size_t times =
      std::max<std::size_t>(1, std::min<std::size_t>(20000, (1 << 20) / bytes));
  for (std::size_t distance : kDistances) {
    std::vector<std::vector<double>> took(all.size());
    for (int turn = 0; turn < kTurns; ++turn)
      for (std::size_t w = 0; w < all.size(); ++w) {
        all[w].copy(dst.data + distance, src.data, bytes);  // the caches are its own from here on
        const double begin = seconds();
        for (std::size_t i = 0; i < times; ++i) all[w].copy(dst.data + distance, src.data, bytes);
        took[w].push_back((seconds() - begin) / times);
      }
    std::printf("own  %9zu distance %4zu", bytes, distance);
    for (std::size_t w = 0; w < all.size(); ++w) {
      const double t = median(took[w]);
      std::printf("  %s %.1f ns %.1f GB/s", all[w].name.c_str(), t * 1e9, bytes / t / 1e9);
    }
    std::printf("\n");
  }
}

// Messages written and read, of the two threads of a case.
struct Pair {
  alignas(128) std::atomic<long> written{0};
  alignas(128) std::atomic<long> read{0};
};

void wait_for(const std::atomic<long>& count, long least) {
  while (count.load(std::memory_order_acquire) < least) {
  }
}

// Writes with the ways if `writes`, else reads with them. Buffers have so many pieces.
void through_slots(std::size_t bytes, long pieces, bool writes) {
  constexpr long kSlots = 4;
  const std::size_t room = (bytes + 4095) / 4096 * 4096;
  const std::size_t whole = static_cast<std::size_t>(pieces) * room;
  const std::vector<Way> all = ways({writes ? To::kSlot : To::kOwn, whole});
  Memory slots(kSlots * room), src(whole), out(whole);
  Pair pair;
  const long rounds = std::clamp<long>((4 << 20) / static_cast<long>(bytes), 4, 64);
  const auto way = [&](long n) { return static_cast<std::size_t>(n / rounds) % all.size(); };
  const long in_all = kTurns * static_cast<long>(all.size()) * rounds;
  std::vector<std::vector<double>> alone(all.size()), both(all.size());
  const auto timed = [&](long n, void* to, const void* from) {
    const double begin = seconds();
    all[way(n)].copy(to, from, bytes);
    alone[way(n)].push_back(seconds() - begin);
  };
  const auto slot = [&](long n) {
    return slots.data + static_cast<std::size_t>(n % kSlots) * room;
  };
  const auto piece = [&](long n) { return static_cast<std::size_t>(n % pieces) * room; };
  std::thread reader([&] {
    pin(1);
    for (long n = 0; n < in_all; ++n) {
      wait_for(pair.written, n + 1);
      if (writes)
        copy(out.data + piece(n), slot(n), bytes, {To::kOwn, whole});
      else
        timed(n, out.data + piece(n), slot(n));
      pair.read.store(n + 1, std::memory_order_release);
    }
  });
  pin(0);
  for (long n = 0; n < in_all;) {
    const double begin = seconds();
    const std::size_t now = way(n);
    for (long i = 0; i < rounds; ++i, ++n) {
      wait_for(pair.read, n + 1 - kSlots);
      if (writes)
        timed(n, slot(n), src.data + piece(n));
      else
        copy(slot(n), src.data + piece(n), bytes, {To::kSlot, whole});
      pair.written.store(n + 1, std::memory_order_release);
    }
    wait_for(pair.read, n);
    both[now].push_back((seconds() - begin) / static_cast<double>(rounds));
  }
  reader.join();
  std::printf("%s %9zu of %9zu", writes ? "slot " : "fetch", bytes, whole);
  for (std::size_t w = 0; w < all.size(); ++w)
    std::printf("  %s %.1f / %.1f GB/s", all[w].name.c_str(), bytes / median(alone[w]) / 1e9,
                bytes / median(both[w]) / 1e9);
  std::printf("\n");
}

}  // namespace

int main() {
  for (const std::size_t bytes : kSizes) {
    if (bytes < 512 || bytes > 1 << 20) continue;
    for (const bool writes : {true, false}) through_slots(bytes, 16, writes);
  }
  for (const long pieces : {256, 1600})
    for (const bool writes : {true, false}) through_slots(64 << 10, pieces, writes);
  pin(0);
  for (const std::size_t bytes : kSizes) own(ways(To::kOwn), bytes);
}
