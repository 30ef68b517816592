// One file for each key. A value is written under a temporary name and then linked to its own:
// a reader finds it whole or not at all, also over NFS, and a second writer is refused.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <random>
#include <string_view>
#include <thread>

#include "base/duration_text.h"
#include "base/errno_text.h"
#include "base/unique_fd.h"
#include "weft/error.h"
#include "weft/store.h"

namespace weft {
namespace {

constexpr std::chrono::milliseconds kFirstPause(1);
constexpr std::chrono::milliseconds kLongestPause(50);
constexpr std::size_t kLongestName = 255;
constexpr std::size_t kLongestValue = 64 << 20;

// Makes the directory and what is missing above it, for this user only.
void make_directories(const std::string& path) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) {
      throw InvalidArgument("directory: cannot make " + errno_text(part));
    }
    if (end == std::string::npos) return;
  }
}

// Opens a directory in which nobody else can change what the ranks read. In one that only `holds`
// theirs, that is to rename or remove it: root may do so anyway, and the others may not where the
// sticky bit is set. If no descriptor is left it is looked at by its name, and not open.
UniqueFd open_checked(const std::string& path, bool holds, bool follow) {
  const int flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW);
  UniqueFd directory(::open(path.c_str(), flags));
  struct stat status{};
  const bool found =
      directory ? ::fstat(directory.get(), &status) == 0
                : is_out_of_descriptors(errno) && ::fstatat(AT_FDCWD, path.c_str(), &status,
                                                            follow ? 0 : AT_SYMLINK_NOFOLLOW) == 0;
  if (!found) throw InvalidArgument("directory: cannot open " + errno_text(path));
  if (status.st_uid != ::geteuid() && !(holds && status.st_uid == 0)) {
    throw InvalidArgument("directory: " + path + " belongs to user " +
                          std::to_string(status.st_uid) +
                          ", who could mislead the ranks; name one of your own");
  }
  if (holds && (status.st_mode & S_ISVTX)) return directory;
  if (status.st_mode & (S_IWGRP | S_IWOTH)) {
    throw InvalidArgument(
        std::string("directory: ") + (status.st_mode & S_IWOTH ? "everybody" : "its group") +
        " may write to " + path + " and mislead the ranks; chmod go-w it, or name another");
  }
  return directory;
}

UniqueFd open_directory(const std::string& path, const std::string& part) {
  if (path.empty()) throw InvalidArgument("directory: the store needs a name");
  make_directories(path);
  if (part.empty()) return open_checked(path, false, true);
  (void)open_checked(path, true, true);
  make_directories(path + "/" + part);
  return open_checked(path + "/" + part, false, false);
}

constexpr std::string_view kPlain =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

// Letters, digits, '-' and '_' stand for themselves, every other byte is %XX: no key
// can leave the directory, or meet a temporary name, which starts with a dot.
std::string escape(const std::string& text) {
  std::string name;
  for (unsigned char c : text) {
    if (kPlain.find(static_cast<char>(c)) != std::string_view::npos) {
      name += static_cast<char>(c);
    } else {
      char escaped[4];
      std::snprintf(escaped, sizeof escaped, "%%%02X", c);
      name += escaped;
    }
  }
  return name;
}

std::string file_name(const std::string& key) {
  const std::string name = escape(key);
  if (name.empty() || name.size() > kLongestName) {
    throw InvalidArgument("key: \"" + key + "\" is empty or too long for a file name");
  }
  return name;
}

// Back from escape().
std::string unescape(const std::string& name) {
  std::string text;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool escaped = name[i] == '%' && i + 2 < name.size();
    text += escaped ? static_cast<char>(std::stoi(name.substr(i + 1, 2), nullptr, 16)) : name[i];
    if (escaped) i += 2;
  }
  return text;
}

class FileStore final : public Store {
 public:
  FileStore(const std::string& path, const std::string& part)
      : path_(part.empty() ? path : path + "/" + part), directory_(open_directory(path, part)) {}

  void set(const std::string& key, const std::string& value) override {
    const std::string name = file_name(key);
    const Temporary temporary(*this);
    if (temporary ? temporary.write(value, name) : leave_note(value, name)) return;
    if (errno != EEXIST) fail(name);
    throw InvalidArgument("store: key \"" + key + "\" was set before in " + path_ +
                          "; every job needs a directory of its own, and every rank its number");
  }

  std::string get(const std::string& key, std::chrono::milliseconds timeout) override {
    const std::string name = file_name(key);
    const auto deadline = std::chrono::steady_clock::now() + timeout;
    // Polled: a directory may lie on a file system that reports no changes of other hosts.
    for (auto pause = kFirstPause;; pause = std::min(2 * pause, kLongestPause)) {
      UniqueFd file(::openat(at(), in(name).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
      if (file) return read(file.get());
      if (errno == ELOOP) return read_note(name);
      if (errno != ENOENT) fail(name);
      const auto left = deadline - std::chrono::steady_clock::now();
      if (left.count() <= 0) {
        throw Timeout("store: key \"" + key + "\" was not set in " + path_ + " within " +
                      duration_text(timeout) +
                      "; has every rank been started, with the same directory?");
      }
      std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(pause, left));
    }
  }

 private:
  // How the system's calls name a file: by the open directory, or by its whole path.
  int at() const { return directory_ ? directory_.get() : AT_FDCWD; }
  std::string in(const std::string& name) const { return directory_ ? name : path_ + "/" + name; }

  // A symbolic link whose target is the value. It takes no descriptor: so a rank that has none left
  // can still tell the others.
  bool leave_note(const std::string& value, const std::string& name) const {
    return ::symlinkat(escape(value).c_str(), at(), in(name).c_str()) == 0;
  }
  std::string read_note(const std::string& name) const {
    char target[PATH_MAX];
    const ssize_t got = ::readlinkat(at(), in(name).c_str(), target, sizeof target);
    if (got < 0) fail(name);
    return unescape(std::string(target, static_cast<std::size_t>(got)));
  }

  // A file with a name that nobody waits for, unless no descriptor is left. Removed when done with.
  class Temporary {
   public:
    explicit Temporary(const FileStore& store) : store_(store) {
      std::random_device random;
      name_ = ".tmp-" + std::to_string(random()) + "-" + std::to_string(random());
      file_ = UniqueFd(::openat(store.at(), store.in(name_).c_str(),
                                O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600));
      if (!file_ && !is_out_of_descriptors(errno)) store.fail(name_);
    }
    ~Temporary() {
      if (file_) ::unlinkat(store_.at(), store_.in(name_).c_str(), 0);
    }
    Temporary(const Temporary&) = delete;

    explicit operator bool() const { return bool(file_); }

    // Writes the value whole and gives it its name. False: there is one of that name.
    bool write(const std::string& value, const std::string& name) const {
      for (std::size_t done = 0; done < value.size();) {
        const ssize_t wrote = ::write(file_.get(), value.data() + done, value.size() - done);
        if (wrote < 0 && errno != EINTR) store_.fail(name_);
        if (wrote > 0) done += static_cast<std::size_t>(wrote);
      }
      return ::linkat(store_.at(), store_.in(name_).c_str(), store_.at(), store_.in(name).c_str(),
                      0) == 0;
    }

   private:
    const FileStore& store_;
    std::string name_;
    UniqueFd file_;
  };

  std::string read(int file) const {
    std::string value;
    char piece[4096];
    for (;;) {
      const ssize_t got = ::read(file, piece, sizeof piece);
      if (got < 0 && errno != EINTR) fail("read");
      if (got == 0) return value;
      if (got > 0) value.append(piece, static_cast<std::size_t>(got));
      if (value.size() > kLongestValue) {
        throw InvalidArgument("store: a file of more than " + std::to_string(kLongestValue) +
                              " bytes in " + path_ + "; give each job a directory of its own");
      }
    }
  }

  [[noreturn]] void fail(const std::string& name) const {
    throw Error("store: " + errno_text(path_ + "/" + name));
  }

  const std::string path_;
  const UniqueFd directory_;
};

}  // namespace

std::shared_ptr<Store> file_store(const std::string& directory, const std::string& part) {
  return std::make_shared<FileStore>(directory, part);
}

}  // namespace weft
