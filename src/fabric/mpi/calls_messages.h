// Calls: messages and their requests.
#pragma once

#include <array>
#include <cstring>
#include <vector>

#include "fabric/mpi/calls.h"

namespace weft::mpi {

// Room for a status of any library.
struct alignas(8) RawStatus {
  std::array<std::byte, 32> bytes{};
};

template <typename H>
Request Calls<H>::isend(const void* data, std::size_t bytes, int to, int tag, Comm comm) const {
  return begin(f_.isend, data, to_int(bytes), native(abi_.byte), to, tag, native(comm));
}

template <typename H>
Request Calls<H>::irecv(void* data, std::size_t bytes, int from, int tag, Comm comm) const {
  return begin(f_.irecv, data, to_int(bytes), native(abi_.byte), native_source(from),
               native_tag(tag), native(comm));
}

template <typename H>
Status Calls<H>::status_of(const void* raw) const {
  const auto number = [&](std::size_t at) {
    int value = 0;
    std::memcpy(&value, static_cast<const std::byte*>(raw) + at, sizeof value);
    return value;
  };
  int bytes = 0, cancelled = 0;
  f_.get_count(raw, native(abi_.byte), &bytes);
  f_.test_cancelled(raw, &cancelled);
  Status status;
  status.source = number(abi_.source_at);
  status.tag = number(abi_.tag_at);
  status.bytes = bytes > 0 ? static_cast<std::size_t>(bytes) : 0;
  status.cancelled = cancelled != 0;
  return status;
}

template <typename H>
bool Calls<H>::iprobe(int from, int tag, Comm comm, Status& status) const {
  int found = 0;
  RawStatus raw;
  f_.iprobe(native_source(from), native_tag(tag), native(comm), &found, &raw);
  if (found) status = status_of(&raw);
  return found != 0;
}

template <typename H>
Message Calls<H>::improbe(int from, int tag, Comm comm, Status& status) const {
  int found = 0;
  RawStatus raw;
  H message = native(abi_.no_message);
  f_.improbe(native_source(from), native_tag(tag), native(comm), &found, &message, &raw);
  if (!found) return {};
  status = status_of(&raw);
  return {bits_of(message)};
}

template <typename H>
Request Calls<H>::imrecv(void* data, std::size_t bytes, Message& message) const {
  H found = native(message), request = native(abi_.no_request);
  f_.imrecv(data, to_int(bytes), native(abi_.byte), &found, &request);
  message = {};
  return request_of(request);
}

template <typename H>
bool Calls<H>::test(Request& request, Status* status) const {
  if (!request) return true;
  int ended = 0;
  RawStatus raw;
  H handle = native(request);
  const int code = f_.test.code(&handle, &ended, status ? &raw : abi_.ignore);
  request = request_of(handle);
  if (code != 0) fail(file_, "MPI_Test", code);
  if (ended && status) *status = status_of(&raw);
  return ended != 0;
}

template <typename H>
void Calls<H>::wait(Request& request, Status* status) const {
  if (!request) return;
  RawStatus raw;
  H handle = native(request);
  const int code = f_.wait.code(&handle, status ? &raw : abi_.ignore);
  request = request_of(handle);
  if (code != 0) fail(file_, "MPI_Wait", code);
  if (status) *status = status_of(&raw);
}

template <typename H>
void Calls<H>::cancel(Request& request) const {
  if (!request) return;
  H handle = native(request);
  f_.cancel(&handle);
}

template <typename H>
void Calls<H>::free(Request& request) const {
  if (!request) return;
  H handle = native(request);
  f_.request_free(&handle);
  request = {};
}

template <typename H>
int Calls<H>::testsome(std::span<Request> requests, std::span<int> ended,
                       std::span<Status> statuses) const {
  // One for each thread: a fabric asks this all the time, and the library's arrays are not ours.
  thread_local std::vector<H> handles;
  thread_local std::vector<std::byte> raw;  // the library's statuses lie close together
  const std::size_t count = requests.size();
  handles.resize(count);
  raw.resize((count + 1) * abi_.status_bytes);
  for (std::size_t i = 0; i < count; ++i) handles[i] = native_request(requests[i]);
  int some = 0;
  const int code = f_.testsome.code(to_int(count), handles.data(), &some, ended.data(), raw.data());
  if (some == abi_.undefined) some = 0;  // all are null
  for (int i = 0; i < some; ++i) {
    const auto place = static_cast<std::size_t>(ended[i]);
    requests[place] = request_of(handles[place]);
  }
  if (code != 0) fail_some(code, raw.data(), some);
  for (int i = 0; i < some && !statuses.empty(); ++i) {
    statuses[i] = status_of(raw.data() + i * abi_.status_bytes);
  }
  return some;
}

// The first request that failed says why.
template <typename H>
void Calls<H>::fail_some(int code, const std::byte* raw, int some) const {
  for (int i = 0; i < some && code == abi_.in_status; ++i) {
    int error = 0;
    std::memcpy(&error, raw + i * abi_.status_bytes + abi_.error_at, sizeof error);
    if (error != 0) code = error;
  }
  fail(file_, "MPI_Testsome", code);
}

}  // namespace weft::mpi
