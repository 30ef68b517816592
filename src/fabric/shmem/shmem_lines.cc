#include "fabric/shmem/shmem_lines.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <deque>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "fabric/shmem/pipe.h"
#include "weft/error.h"

namespace weft::shmem {
namespace {

using mail::Mail;

// Before each mail: how many bytes it has.
using Length = std::uint32_t;

class ShmemLine final : public mail::Line {
 public:
  ShmemLine(const Process& process, int pe, std::uint64_t number, int place, int me)
      : process_(process),
        pe_(pe),
        me_(me),
        mail_(process.shmem, pe, &at(number, place)->mail),
        payloads_(process.shmem, pe, &at(number, place)->payloads) {}

  void join(std::uint64_t number) override {
    mail_.join(&at(number, me_)->mail);
    payloads_.join(&at(number, me_)->payloads);
  }
  void send(const Mail& mail, std::size_t inlined, bool awaited) override;
  std::uint64_t place_of(const std::byte* data, std::size_t bytes) const override;
  void send_payload(const std::byte* data, std::size_t bytes) override {
    payloads_out_.push_back({data, bytes});
    write_payloads();
  }
  std::uint64_t sent() override {
    write_payloads();
    return sent_;
  }
  bool idle() override;

  const Mail* next() override;
  const std::byte* reach(std::uint64_t place, std::size_t bytes) override;
  void receive(std::byte* into, std::size_t bytes) override {
    payloads_in_.push_back({into, bytes});
  }
  std::uint64_t received() override;

 private:
  Pipes* at(std::uint64_t number, int place) const {
    return reinterpret_cast<Pipes*>(process_.heap.at(number, 0)) + place;
  }
  struct Frame {
    std::vector<std::byte> bytes;
    bool awaited;
  };

  void write(const std::byte* frame, std::size_t bytes, bool awaited);
  void write_mail();
  void write_payloads();
  void progress();

  const Process& process_;
  const int pe_, me_;
  Duplex mail_, payloads_;
  std::deque<Frame> mail_out_;  // those without room in the pipe
  std::uint64_t awaited_ = 0;   // of the bytes in the pipe, the last that idle() waits for
  std::deque<std::span<const std::byte>> payloads_out_;
  std::deque<std::span<std::byte>> payloads_in_;
  std::uint64_t sent_ = 0, received_ = 0;
  bool leaves_ = false;
  Mail incoming_;
};

void ShmemLine::progress() {
  if (!mail_.near()) process_.shmem.progress();
  if (!mail_out_.empty()) write_mail();
  if (!payloads_out_.empty()) write_payloads();
}

void ShmemLine::send(const Mail& mail, std::size_t inlined, bool awaited) {
  const auto length = static_cast<Length>(mail::kMailHead + inlined);
  std::array<std::byte, sizeof length + sizeof mail> frame;
  std::memcpy(frame.data(), &length, sizeof length);
  std::memcpy(frame.data() + sizeof length, &mail, length);
  leaves_ = leaves_ || mail.kind == Mail::Kind::kFarewell;
  write_mail();
  const std::size_t bytes = sizeof length + length;
  if (mail_out_.empty() && bytes <= mail_.room())
    write(frame.data(), bytes, awaited);
  else
    mail_out_.push_back({{frame.data(), frame.data() + bytes}, awaited});
}

void ShmemLine::write(const std::byte* frame, std::size_t bytes, bool awaited) {
  mail_.write(frame, bytes);
  if (awaited) awaited_ = mail_.written();
}

// A mail goes whole, so that its reader never finds half of one.
void ShmemLine::write_mail() {
  while (!mail_out_.empty() && mail_out_.front().bytes.size() <= mail_.room()) {
    const Frame& next = mail_out_.front();
    write(next.bytes.data(), next.bytes.size(), next.awaited);
    mail_out_.pop_front();
  }
}

void ShmemLine::write_payloads() {
  while (!payloads_out_.empty()) {
    auto& rest = payloads_out_.front();
    const std::size_t piece = std::min(payloads_.room(), rest.size());
    if (piece == 0) return;
    payloads_.write(rest.data(), piece);
    rest = rest.subspan(piece);
    if (!rest.empty()) continue;
    payloads_out_.pop_front();
    ++sent_;
  }
}

// Over a network something has arrived only when the peer has said so. After a farewell the peer's
// word that it has taken all is the last that it writes here.
bool ShmemLine::idle() {
  progress();
  if (!payloads_out_.empty()) return false;
  if (leaves_) return mail_out_.empty() && mail_.all_taken() && payloads_.all_taken();
  if (std::ranges::any_of(mail_out_, &Frame::awaited)) return false;
  return mail_.near() || (mail_.taken(awaited_) && payloads_.all_taken());
}

std::uint64_t ShmemLine::place_of(const std::byte* data, std::size_t bytes) const {
  const auto offset = mail_.near() ? process_.heap.offset_of(data, bytes) : std::nullopt;
  return offset ? *offset + 1 : 0;
}

const std::byte* ShmemLine::reach(std::uint64_t place, std::size_t bytes) {
  const std::byte* const here = process_.heap.at(place - 1, bytes);
  return static_cast<const std::byte*>(process_.shmem.reach(here, pe_));
}

const Mail* ShmemLine::next() {
  progress();
  if (mail_.waiting() == 0) {
    mail_.tell_if_due();
    return nullptr;
  }
  Length length = 0;
  mail_.read(&length, sizeof length);
  if (length < mail::kMailHead || length > sizeof incoming_)
    throw InternalError("shmem: PE " + std::to_string(pe_) + " has sent a mail of " +
                        std::to_string(length) + " bytes");
  mail_.read(static_cast<void*>(&incoming_), length);
  if (incoming_.kind == Mail::Kind::kFarewell)
    mail_.tell();
  else
    mail_.tell_if_due();
  return &incoming_;
}

std::uint64_t ShmemLine::received() {
  while (!payloads_in_.empty()) {
    auto& rest = payloads_in_.front();
    const std::size_t piece = std::min(payloads_.waiting(), rest.size());
    if (piece == 0) break;
    payloads_.read(rest.data(), piece);
    rest = rest.subspan(piece);
    if (!rest.empty()) continue;
    payloads_in_.pop_front();
    ++received_;
  }
  payloads_.tell();
  return received_;
}

}  // namespace

std::uint64_t ShmemLines::claim(std::size_t members) {
  auto* const block = process_.heap.take(members * sizeof(Pipes));
  auto* const pipes = reinterpret_cast<Pipes*>(block);
  std::for_each(pipes, pipes + members, [](Pipes& of) {
    of.mail.counts.clear();
    of.payloads.counts.clear();
    of.come.store(0, std::memory_order_relaxed);
  });
  return *process_.heap.offset_of(block, 1);
}

void ShmemLines::give_back(std::uint64_t number) {
  process_.heap.release(process_.heap.at(number, 0));
}

bool ShmemLines::is_number(std::uint64_t number, std::size_t members) const {
  return number % Heap::kPage == 0 && members * sizeof(Pipes) <= process_.heap.bytes() &&
         number <= process_.heap.bytes() - members * sizeof(Pipes);
}

std::unique_ptr<mail::Line> ShmemLines::open(std::uint64_t number, int rank, int place, int me) {
  return std::make_unique<ShmemLine>(process_, rank, number, place, me);
}

}  // namespace weft::shmem
