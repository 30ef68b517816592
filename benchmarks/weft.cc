// Weft through its C++ interface: `weft_bench DIRECTORY RANK`, a process a rank.
#include <weft/communicator.h>

#include <cstdlib>

#include "driver.h"
#include "pattern.h"

namespace {

class Weft : public bench::Library {
 public:
  Weft(const bench::Job& job, int rank, const std::string& directory) : job_(job) {
    weft::CommunicatorOptions options;
    options.timeout = std::chrono::minutes(1);
    comm_ =
        weft::Communicator::create(weft::file_store(directory + "/weft"), rank, job.ranks, options);
  }

  std::shared_ptr<void> allocate(std::size_t bytes) override {
    return job_.symmetric ? weft::symmetric_alloc(*comm_->fabric(), bytes)
                          : Library::allocate(bytes);
  }

  void bind(const bench::Case& c, const void* input, void* output) override {
    sends_ = c.collective == "sendrecv";
    call_ = {};
    call_.collective = sends_ ? weft::Collective::kSendRecv : weft::parse_collective(c.collective);
    call_.input = input;
    call_.output = output;
    call_.count = c.count;
    if (call_.collective != weft::Collective::kBarrier) call_.dtype = weft::parse_dtype(c.dtype);
    call_.algorithm = c.algorithm;
    call_.symmetric = job_.symmetric;
    together_ = c.together;
    calls_.clear();
    if (!sends_) split(c);
  }

  std::string algorithm() const override {
    std::string names;
    for (const weft::Call& call : calls_)
      names += (names.empty() ? "" : "+") + comm_->algorithm_for(call);
    return names;
  }

  void operate() override {
    if (sends_) return exchange();
    if (together_) return started_together();
    for (const weft::Call& call : calls_) comm_->run(call);
  }

  void barrier() override { comm_->barrier(); }

 private:
  // The calls of an operation, on consecutive parts of the buffers.
  void split(const bench::Case& c) {
    const std::vector<std::size_t> counts = bench::calls(c);
    calls_.assign(counts.size(), call_);
    std::size_t before = 0;
    for (std::size_t i = 0; i < counts.size(); before += counts[i++] * bench::item_bytes(c.dtype)) {
      calls_[i].count = counts[i];
      if (i == 0) continue;
      calls_[i].input = static_cast<const std::byte*>(call_.input) + before;
      calls_[i].output = static_cast<std::byte*>(call_.output) + before;
    }
  }

  void started_together() {
    for (const weft::Call& call : calls_) requests_.push_back(comm_->submit(call));
    for (weft::Request& request : requests_) request.wait();
    requests_.clear();
  }

  // Around the ring of ranks, as nccl-tests' sendrecv does.
  void exchange() {
    const int rank = comm_->rank(), size = comm_->size();
    auto received = comm_->irecv(call_.output, call_.count, call_.dtype, (rank + size - 1) % size);
    auto sent = comm_->isend(call_.input, call_.count, call_.dtype, (rank + 1) % size);
    sent.wait();
    received.wait();
  }

  const bench::Job& job_;
  std::shared_ptr<weft::Communicator> comm_;
  weft::Call call_;
  std::vector<weft::Call> calls_;
  std::vector<weft::Request> requests_;
  bool sends_ = false, together_ = false;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const std::string directory = argv[1];
  const int rank = std::atoi(argv[2]);
  return bench::guarded(rank, [&] {
    const bench::Job job = bench::read_job(directory + "/job");
    Weft weft(job, rank, directory);
    bench::measure(weft, job, rank, directory);
  });
}
