#include "fabric/ofi/session/message.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace weft::ofi {

bool Talk::send(const Message& message) {
  Message::Head head = message.head;
  head.text = static_cast<std::uint32_t>(std::min(message.text.size(), Message::kMostText));
  std::string bytes(reinterpret_cast<const char*>(&head), sizeof head);
  bytes.append(message.text, 0, head.text);
  ssize_t sent;
  do {
    sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  // A part of a message would garble the next: messages are few, and the system holds hundreds.
  return sent == static_cast<ssize_t>(bytes.size());
}

Talk::What Talk::receive(Message& message) {
  for (;;) {
    if (unread_.size() >= sizeof message.head) {
      std::memcpy(&message.head, unread_.data(), sizeof message.head);
      const Message::Head& head = message.head;
      if (head.magic != Message::kMagic || head.version != kWireVersion ||
          head.text > Message::kMostText) {
        return What::kNonsense;
      }
      const std::size_t length = sizeof head + head.text;
      if (unread_.size() >= length) {
        message.text = unread_.substr(sizeof head, head.text);
        unread_.erase(0, length);
        return What::kMessage;
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
