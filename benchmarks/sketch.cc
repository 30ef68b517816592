// A throw-away kernel of two plans for two ranks, the two-shot allreduce and the direct alltoall:
// how fast that order of loads and stores can be on this processor with slots and stores chosen
// freely. `bench_sketch DIRECTORY`, threads of one process. A case's algorithm names the choice,
// each word being optional:
//
//   slots=32,chunk=16K,send=string,result=string,fetch=parts,lag=1,lent=1
//
// slots, chunk: places that each of the two streams turns through, also across calls, and bytes of
// a chunk. send, result, fetch: the loop (plain, string, fetching, parts, stream) that copies an
// input into a slot; a sum into a slot, or the own block of an alltoall; and what a slot holds out
// of it. lag: how many chunks are sent before the first is taken. lent: whether a rank writes each
// second time where it has read the other's message, so that who has read a slot last writes it
// next. It proves nothing, knows no errors, and sums float32 only.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <vector>

#include "kernels/isa.h"
#include "kernels/kernels.h"
#include "kernels/strings.h"
#include "threads.h"

namespace {

using weft::kernels::Order;
using weft::kernels::Source;
using weft::kernels::Target;

constexpr std::size_t kAllBytes = 64 << 20;  // of a stream's slots

struct Choice {
  std::size_t slots = 4, chunk = 64 << 10, lag = 1, lent = 0;
  std::string send = "string", result = "string", fetch = "string";
};

std::size_t number(const std::string& text) {
  std::size_t end = 0;
  const std::size_t value = std::stoul(text, &end);
  return text.substr(end) == "K" ? value << 10 : text.substr(end) == "M" ? value << 20 : value;
}

Choice parse(const std::string& text) {
  Choice choice;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) {
    const std::size_t at = word.find('=');
    const std::string name = word.substr(0, at), value = word.substr(at + 1);
    if (name == "slots")
      choice.slots = number(value);
    else if (name == "chunk")
      choice.chunk = number(value);
    else if (name == "lag")
      choice.lag = number(value);
    else if (name == "lent")
      choice.lent = number(value);
    else if (name == "send")
      choice.send = value;
    else if (name == "result")
      choice.result = value;
    else if (name == "fetch")
      choice.fetch = value;
    else
      throw std::runtime_error("a choice of the sketch: " + word);
  }
  if (choice.slots <= choice.lag || choice.slots * choice.chunk > kAllBytes)
    throw std::runtime_error("slots of the sketch: more than its lag, and at most 64 MiB");
  return choice;
}

void copy(const std::string& way, void* to, const void* from, std::size_t bytes) {
  const weft::kernels::Table& table = weft::kernels::chosen_table();
  if (way == "stream") return table.copy_stream(to, from, bytes);
  if (way == "parts") return table.copy_parts(to, from, bytes);
#if defined(__x86_64__)
  if (way == "string" || way == "fetching")
    return weft::kernels::copy_string(to, from, bytes, table.copy_plain, way == "fetching");
#endif
  table.copy_plain(to, from, bytes);
}

// One rank's messages of one kind to the other. Counters only grow.
struct Stream {
  std::shared_ptr<void> slots;
  alignas(128) std::atomic<std::uint64_t> filled{0};
  alignas(128) std::atomic<std::uint64_t> taken{0};
};

struct Shared {
  Stream sends[2], results[2];
};

void until(const std::atomic<std::uint64_t>& counter, std::uint64_t least) {
  while (counter.load(std::memory_order_acquire) < least) {
  }
}

class Sketch : public bench::Library {
 public:
  Sketch(int rank, Shared& shared) : rank_(static_cast<std::size_t>(rank)), shared_(shared) {
    for (Stream* stream : {&shared.sends[rank], &shared.results[rank]}) {
      stream->slots = allocate(kAllBytes);
      std::memset(stream->slots.get(), 0, kAllBytes);
    }
    reduce_ = weft::kernels::find_reduce(weft::DType::kF32, weft::ReduceOp::kSum);
  }

  void bind(const bench::Case& c, const void* input, void* output) override {
    const bool exchanges = c.collective == "alltoall";
    if ((c.collective != "allreduce" && !exchanges) || c.dtype != "float32")
      throw std::runtime_error("the sketch is an allreduce or an alltoall of float32");
    if (done_ > 0 && exchanges != exchanges_)
      throw std::runtime_error("the sketch runs one collective a process");
    exchanges_ = exchanges;
    choice_ = parse(c.algorithm);
    input_ = static_cast<const std::byte*>(input);
    data_ = static_cast<std::byte*>(output);
    bytes_ = c.count * sizeof(float);
    half_ = c.count / 2 * sizeof(float);
  }

  void operate() override { exchanges_ ? alltoall() : allreduce(); }
  void barrier() override {}

 private:
  struct Piece {
    std::byte* data;
    std::size_t bytes;
  };

  void allreduce() {
    const std::size_t chunks = chunks_of(bytes_ - half_);
    for (std::size_t i = 0; i < chunks + 2 * choice_.lag; ++i) {
      if (i < chunks) {
        const Piece other = half(1 - rank_, i);
        fill(shared_.sends, i, choice_.send, other.data, other.bytes);
      }
      if (i >= choice_.lag && i - choice_.lag < chunks) add(i - choice_.lag);
      if (i >= 2 * choice_.lag) {
        const std::size_t last = i - 2 * choice_.lag;
        fetch(shared_.results, last, half(1 - rank_, last));
      }
    }
    done_ += chunks;
  }

  // bytes_ of a block.
  void alltoall() {
    const std::size_t chunks = chunks_of(bytes_), own = rank_ * bytes_, other = bytes_ - own;
    for (std::size_t i = 0; i < chunks + choice_.lag; ++i) {
      if (i < chunks) {
        const auto [at, bytes] = range(bytes_, i);
        fill(shared_.sends, i, choice_.send, input_ + other + at, bytes);
        copy(choice_.result, data_ + own + at, input_ + own + at, bytes);
      }
      if (i >= choice_.lag) {
        const auto [at, bytes] = range(bytes_, i - choice_.lag);
        fetch(shared_.sends, i - choice_.lag, {data_ + other + at, bytes});
      }
    }
    done_ += chunks;
  }

  std::size_t chunks_of(std::size_t bytes) const {
    return (bytes + choice_.chunk - 1) / choice_.chunk;
  }
  struct Range {
    std::size_t at, bytes;
  };
  // Chunk i of `bytes`.
  Range range(std::size_t bytes, std::size_t i) const {
    const std::size_t at = std::min(bytes, i * choice_.chunk);
    return {at, std::min(choice_.chunk, bytes - at)};
  }
  // Chunk i of a rank's half.
  Piece half(std::size_t rank, std::size_t i) const {
    const auto [at, bytes] = range(rank ? bytes_ - half_ : half_, i);
    return {data_ + (rank ? half_ : 0) + at, bytes};
  }
  // Of message i of `rank`.
  std::byte* slot(const Stream* streams, std::size_t rank, std::size_t i) const {
    const std::size_t turn = (done_ + i) / choice_.slots;
    const std::size_t owner = choice_.lent ? (rank + turn) % 2 : rank;
    return static_cast<std::byte*>(streams[owner].slots.get()) +
           (done_ + i) % choice_.slots * choice_.chunk;
  }
  void fill(Stream* streams, std::size_t i, const std::string& way, const std::byte* from,
            std::size_t bytes) {
    Stream& stream = streams[rank_];
    if (done_ + i >= choice_.slots) until(stream.taken, done_ + i + 1 - choice_.slots);
    copy(way, slot(streams, rank_, i), from, bytes);
    stream.filled.store(done_ + i + 1, std::memory_order_release);
  }

  void add(std::size_t i) {
    Stream& from = shared_.sends[1 - rank_];
    until(from.filled, done_ + i + 1);
    const Piece mine = half(rank_, i);
    const Source sources[] = {{mine.data}, {slot(shared_.sends, 1 - rank_, i)}};
    const Target targets[] = {{mine.data}};
    reduce_({sources, 2}, {targets, 1}, mine.bytes / sizeof(float), 1.0, Order::kFromLeft);
    from.taken.store(done_ + i + 1, std::memory_order_release);
    fill(shared_.results, i, choice_.result, mine.data, mine.bytes);
  }

  void fetch(Stream* streams, std::size_t i, Piece into) {
    Stream& from = streams[1 - rank_];
    until(from.filled, done_ + i + 1);
    copy(choice_.fetch, into.data, slot(streams, 1 - rank_, i), into.bytes);
    from.taken.store(done_ + i + 1, std::memory_order_release);
  }

  const std::size_t rank_;
  Shared& shared_;
  Choice choice_;
  bool exchanges_ = false;
  const std::byte* input_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0, half_ = 0;
  std::uint64_t done_ = 0;  // chunks of all calls before
  weft::kernels::ReduceFn reduce_ = nullptr;
};

}  // namespace

int main(int argc, char** argv) {
  return bench::measure_threads(argc, argv, [](const bench::Job& job) -> bench::MakeRank {
    if (job.ranks != 2) throw std::runtime_error("the sketch is for two ranks");
    auto shared = std::make_shared<Shared>();
    return [shared](int rank) { return std::make_unique<Sketch>(rank, *shared); };
  });
}
