#include "fabric/mail/library_mutex.h"

namespace weft::mail {

std::mutex& library_mutex() {
  static auto& mutex = *new std::mutex;  // never destroyed, as the library
  return mutex;
}

}  // namespace weft::mail
