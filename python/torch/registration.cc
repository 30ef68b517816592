#include "registration.h"

#include <array>
#include <cstring>
#include <string>

#include "element.h"
#include "gil.h"

namespace weft::torch_adapter {

namespace {

// What a rank tells the others before they make the window together.
struct Word {
  Shape shape{at::ScalarType::Undefined, 0};
  std::array<char, 496> refusal{};  // why its tensor is refused; empty: it is not
};

Word word_of(const Site& site, const at::Tensor& tensor) {
  Word word;
  try {
    word.shape = {common_type(site, {{"tensor", tensor}}), tensor.numel()};
    if (!tensor.is_contiguous() || tensor.is_conj() || tensor.is_neg())
      refuse(site, "the tensor of sizes ", tensor.sizes(), " and strides ", tensor.strides(),
             " is not contiguous; register a contiguous() copy of it");
  } catch (const c10::Error& error) {
    std::strncpy(word.refusal.data(), error.what_without_backtrace(), word.refusal.size() - 1);
  }
  return word;
}

// What all ranks know then.
std::vector<Shape> exchange(Communicator& communicator, const Word& mine) {
  static_assert(std::is_trivially_copyable_v<Word>);
  std::vector<Word> words(static_cast<std::size_t>(communicator.size()));
  communicator.allgather(&mine, words.data(), sizeof(Word), DType::kU8);
  std::vector<Shape> shapes;
  for (const Word& word : words) {
    if (word.refusal[0]) throw BadArgument(word.refusal.data());
    shapes.push_back(word.shape);
  }
  return shapes;
}

}  // namespace

std::uint64_t Tickets::take() {
  if (given_back_.empty()) return ++last_;
  return given_back_.extract(given_back_.begin()).value();
}

Registration::~Registration() {
  WithoutGil blocking;
  window.reset();
}

const Shape& Registration::shape(const Site& site, std::int64_t rank) const {
  if (rank < 0 || rank >= static_cast<std::int64_t>(shapes.size()))
    refuse(site, "there is no rank ", rank, ": ranks are 0 to ", shapes.size() - 1);
  return shapes[static_cast<std::size_t>(rank)];
}

std::uint64_t Registration::take_ticket(int peer) {
  std::lock_guard lock(mutex);
  return tickets[static_cast<std::size_t>(peer)].take();
}

void Registration::give_back(int peer, std::uint64_t ticket) {
  std::lock_guard lock(mutex);
  tickets[static_cast<std::size_t>(peer)].give_back(ticket);
}

void Registration::end_together(std::chrono::milliseconds timeout) {
  const int ranks = window->size();
  for (int peer = 0; peer < ranks; ++peer) window->signal(peer, {ranks + window->rank()});
  for (int peer = 0; peer < ranks; ++peer) window->wait_signal(ranks + peer, 1, timeout);
  window->close();
}

std::shared_ptr<Registration> register_tensor(Communicator& communicator, const Site& site,
                                              const at::Tensor& tensor, bool owning) {
  auto made = std::make_shared<Registration>();
  made->shapes = exchange(communicator, word_of(site, tensor));
  made->tickets.resize(made->shapes.size());
  made->window = weft::Window::create(communicator, tensor.mutable_data_ptr(), tensor.nbytes(),
                                      2 * communicator.size());
  if (owning) made->owned = tensor;
  return made;
}

}  // namespace weft::torch_adapter
