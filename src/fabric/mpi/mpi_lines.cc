#include "fabric/mpi/mpi_lines.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <utility>

#include "weft/error.h"

namespace weft::mpi {
namespace {

using mail::Mail;

// Each lane has two tags, and MPI promises 32768.
constexpr std::size_t kMostLanes = 16384;

int mail_tag(std::uint64_t number) { return 2 * static_cast<int>(number); }
int payload_tag(std::uint64_t number) { return 2 * static_cast<int>(number) + 1; }

class MpiLine final : public mail::Line {
 public:
  MpiLine(const Mpi& mpi, Comm comm, int rank, std::uint64_t number)
      : mpi_(mpi), comm_(comm), rank_(rank), number_(number) {
    for (std::size_t i = 0; i < kOpen; ++i) open(i);
  }
  ~MpiLine() override;

  void join(std::uint64_t number) override { theirs_ = number; }
  void send(const Mail& mail, std::size_t inlined, bool awaited) override;
  void send_payload(const std::byte* data, std::size_t bytes) override {
    payloads_out_.push_back(mpi_.isend(data, bytes, rank_, payload_tag(theirs_), comm_));
  }
  std::uint64_t sent() override { return end_first(payloads_out_, sent_); }
  bool idle() override;

  const Mail* next() override;
  void receive(std::byte* into, std::size_t bytes) override {
    payloads_in_.push_back(mpi_.irecv(into, bytes, rank_, payload_tag(number_), comm_));
  }
  std::uint64_t received() override { return end_first(payloads_in_, received_); }

 private:
  static constexpr std::size_t kOpen = 4;

  struct Sent {
    Request request;
    std::unique_ptr<Mail> mail;
  };

  void open(std::size_t slot) {
    receives_[slot] = mpi_.irecv(&incoming_[slot], sizeof(Mail), rank_, mail_tag(number_), comm_);
  }
  std::uint64_t end_first(std::deque<Request>& requests, std::uint64_t& ended) {
    for (; !requests.empty() && mpi_.test(requests.front()); ++ended) requests.pop_front();
    return ended;
  }
  void look_after_mail();

  const Mpi& mpi_;
  const Comm comm_;
  const int rank_;
  const std::uint64_t number_;
  std::uint64_t theirs_ = 0;

  std::array<Mail, kOpen> incoming_;
  std::array<Request, kOpen> receives_{};
  std::size_t next_ = 0;
  bool shown_ = false;  // the mail before `next_` is in use
  std::vector<Sent> mail_out_;
  std::vector<std::unique_ptr<Mail>> spare_;
  std::deque<Request> payloads_out_, payloads_in_;
  std::uint64_t sent_ = 0, received_ = 0;
};

MpiLine::~MpiLine() {
  for (Request& receive : receives_) {
    if (!receive) continue;
    mpi_.cancel(receive);
    mpi_.wait(receive);
  }
  for (Request& request : payloads_in_) mpi_.free(request);
  for (Request& request : payloads_out_) mpi_.free(request);
  for (Sent& sent : mail_out_) {
    mpi_.free(sent.request);
    (void)sent.mail.release();
  }
}

void MpiLine::send(const Mail& mail, std::size_t inlined, bool) {
  std::unique_ptr<Mail> copy;
  if (spare_.empty()) {
    copy = std::make_unique<Mail>();
  } else {
    copy = std::move(spare_.back());
    spare_.pop_back();
  }
  const std::size_t bytes = mail::kMailHead + inlined;
  std::memcpy(static_cast<void*>(copy.get()), &mail, bytes);
  Request request = mpi_.isend(copy.get(), bytes, rank_, mail_tag(theirs_), comm_);
  if (mpi_.test(request))
    spare_.push_back(std::move(copy));
  else
    mail_out_.push_back({request, std::move(copy)});
}

void MpiLine::look_after_mail() {
  std::erase_if(mail_out_, [&](Sent& sent) {
    if (!mpi_.test(sent.request)) return false;
    spare_.push_back(std::move(sent.mail));
    return true;
  });
}

bool MpiLine::idle() {
  look_after_mail();
  (void)sent();
  return mail_out_.empty() && payloads_out_.empty();
}

const Mail* MpiLine::next() {
  if (std::exchange(shown_, false)) open((next_ + kOpen - 1) % kOpen);
  if (!mail_out_.empty()) look_after_mail();
  if (!mpi_.test(receives_[next_])) return nullptr;
  shown_ = true;
  return &incoming_[std::exchange(next_, (next_ + 1) % kOpen)];
}

}  // namespace

std::uint64_t MpiLines::claim(std::size_t) {
  const auto free = std::ranges::find(in_use_, false);
  const auto number = static_cast<std::size_t>(free - in_use_.begin());
  if (number >= kMostLanes)
    throw Unsupported("mpi: " + std::to_string(kMostLanes) +
                      " lanes are open: destroy communicators that are no longer used");
  if (free == in_use_.end()) in_use_.push_back(false);
  in_use_[number] = true;
  return number;
}

void MpiLines::give_back(std::uint64_t number) { in_use_[number] = false; }

bool MpiLines::is_number(std::uint64_t number, std::size_t) const { return number < kMostLanes; }

std::unique_ptr<mail::Line> MpiLines::open(std::uint64_t number, int rank, int, int) {
  return std::make_unique<MpiLine>(mpi_, comm_, rank, number);
}

}  // namespace weft::mpi
