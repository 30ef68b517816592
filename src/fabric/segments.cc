#include "fabric/segments.h"

#include <algorithm>

#include "fabric/location.h"
#include "weft/error.h"

namespace weft {

// A thread's last result: addresses in one segment, or in the gap between two.
struct Segments::Memo {
  std::uint64_t version = 0;
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
  Location where;  // of `begin`; nowhere: a gap
};

SymmetricBlock Segments::allocate(std::size_t bytes, MemoryUse use) {
  if (bytes > kLargestSegment) {
    throw InvalidArgument("bytes: " + std::to_string(bytes) +
                          " of symmetric memory in one piece; the most is 1 TiB");
  }
  auto segment = std::make_shared<Segment>();
  segment->use = use;
  const std::size_t length = whole_pages(bytes);
  if (use == MemoryUse::kUser) {  // whose pages go back at once
    segment->memory.file = std::make_shared<const UniqueFd>(make_memory(length));
  } else {
    std::lock_guard lock(mutex_);
    segment->memory = pieces_.take(length);
  }
  segment->mapping = Mapping::of(segment->memory.file->get(), length, segment->memory.offset);
  std::byte* const data = segment->mapping->data();

  std::lock_guard lock(mutex_);
  if (last_ == kLastSegment) {
    throw Unsupported(
        "this fabric has made 16 million symmetric segments, the most there can "
        "be; allocate larger pieces and keep them");
  }
  const Location where = location_of(++last_, 0);
  segments_[last_] = std::move(segment);
  if (use == MemoryUse::kUser) {
    const auto begin = reinterpret_cast<std::uintptr_t>(data);
    insert({begin, begin + bytes, where});
    change_version();
  }
  return {data, bytes, where};
}

void Segments::release(const SymmetricBlock& block) {
  std::shared_ptr<const Segment> segment;
  bool user = false;
  {
    std::lock_guard lock(mutex_);
    const auto found = segments_.find(segment_of(block.where));
    if (found == segments_.end() || found->second->mapping->data() != block.data) {
      throw InvalidArgument("block: not allocated by this fabric, or released before");
    }
    segment = std::move(found->second);
    segments_.erase(found);
    user = segment->use == MemoryUse::kUser;
    std::erase_if(ranges_, [&](const UserRange& range) {
      return segment_of(range.where) == segment_of(block.where);
    });
    if (user) change_version();
  }
  segment->mapping->mark_released();
  // A member that is late reads its messages from slots, and writes abort records into lanes.
  if (user) discard_memory(segment->memory.file->get(), segment->mapping->bytes());
}

bool Segments::isolate(void* data, std::size_t bytes) {
  std::lock_guard lock(mutex_);
  const auto place = reinterpret_cast<std::uintptr_t>(data);
  const auto found = std::find_if(ranges_.begin(), ranges_.end(), [&](const UserRange& range) {
    return place >= range.begin && place < range.end;
  });
  if (found == ranges_.end()) return true;  // peers do not know it
  const UserRange range = *found;
  const std::uintptr_t begin = place - (place - range.begin) % whole_pages(1);
  const std::uintptr_t end = begin + whole_pages(place - begin + bytes);
  if (!replace_pages(reinterpret_cast<std::byte*>(begin), end - begin)) return false;
  ranges_.erase(found);
  if (range.begin < begin) insert({range.begin, begin, range.where});
  if (end < range.end) insert({end, range.end, range.where + (end - range.begin)});
  change_version();
  return true;
}

void Segments::insert(const UserRange& range) {
  const auto after =
      std::upper_bound(ranges_.begin(), ranges_.end(), range.begin,
                       [](auto begin, const UserRange& r) { return begin < r.begin; });
  ranges_.insert(after, range);
}

std::shared_ptr<const Segment> Segments::find(std::uint32_t id) const {
  std::lock_guard lock(mutex_);
  const auto found = segments_.find(id);
  return found == segments_.end() ? nullptr : found->second;
}

void Segments::change_version() {
  static std::atomic<std::uint64_t> versions{0};
  // relaxed, here and in locate(): a thread that got the memory from another thread got the version
  // with it; the table itself is under the mutex.
  const std::uint64_t next = versions.fetch_add(1, std::memory_order_relaxed) + 1;
  version_.store(ranges_.empty() ? 0 : next, std::memory_order_relaxed);
}

Segments::Memo Segments::look_up(std::uintptr_t place) const {
  std::lock_guard lock(mutex_);
  Memo memo;
  memo.version = version_.load(std::memory_order_relaxed);
  const auto after = std::upper_bound(ranges_.begin(), ranges_.end(), place,
                                      [](auto p, const UserRange& r) { return p < r.begin; });
  memo.end = after == ranges_.end() ? UINTPTR_MAX : after->begin;
  if (after == ranges_.begin()) return memo;
  const UserRange& before = *(after - 1);
  if (place >= before.end) {
    memo.begin = before.end;
  } else {
    memo = {memo.version, before.begin, before.end, before.where};
  }
  return memo;
}

void Segments::detach_in_child() {
  for (const UserRange& range : ranges_) {
    const Segment& segment = *segments_.at(segment_of(range.where));
    make_private(segment.memory.file->get(), offset_of(range.where),
                 reinterpret_cast<std::byte*>(range.begin), range.end - range.begin);
  }
}

[[gnu::hot]] Location Segments::locate(const void* data, std::size_t bytes) const {
  thread_local Memo memo;
  const std::uint64_t version = version_.load(std::memory_order_relaxed);
  if (version == 0) return {};
  const auto place = reinterpret_cast<std::uintptr_t>(data);
  if (memo.version != version || place < memo.begin || place >= memo.end) memo = look_up(place);
  if (!memo.where || place < memo.begin || bytes > memo.end - place) return {};
  return memo.where + (place - memo.begin);
}

}  // namespace weft
