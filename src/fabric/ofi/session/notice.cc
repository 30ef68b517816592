#include "fabric/ofi/session/notice.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace weft::ofi {

bool Talk::send(const Notice& notice) {
  Notice::Head head = notice.head;
  head.text = static_cast<std::uint32_t>(std::min(notice.text.size(), Notice::kMostText));
  std::string bytes(reinterpret_cast<const char*>(&head), sizeof head);
  bytes.append(notice.text, 0, head.text);
  ssize_t sent;
  do {
    sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  // A part of a notice would garble the next: notices are few, and the system holds hundreds.
  return sent == static_cast<ssize_t>(bytes.size());
}

Talk::What Talk::receive(Notice& notice) {
  for (;;) {
    if (unread_.size() >= sizeof notice.head) {
      std::memcpy(&notice.head, unread_.data(), sizeof notice.head);
      const Notice::Head& head = notice.head;
      if (head.magic != Notice::kMagic || head.version != kWireVersion ||
          head.text > Notice::kMostText) {
        return What::kNonsense;
      }
      const std::size_t length = sizeof head + head.text;
      if (unread_.size() >= length) {
        notice.text = unread_.substr(sizeof head, head.text);
        unread_.erase(0, length);
        return What::kNotice;
      }
    }
    char bytes[4096];
    const ssize_t got = ::recv(socket_.get(), bytes, sizeof bytes, MSG_DONTWAIT);
    if (got > 0) {
      unread_.append(bytes, static_cast<std::size_t>(got));
    } else if (got < 0 && errno == EINTR) {
      continue;
    } else {
      if (got == 0 || errno == ECONNRESET) return What::kEnd;
      return errno == EAGAIN || errno == EWOULDBLOCK ? What::kNothing : What::kCut;
    }
  }
}

}  // namespace weft::ofi
