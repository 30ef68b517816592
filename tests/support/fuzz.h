// What comes from outside, bent: valid texts with mistakes in them, always the same ones.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <array>
#include <chrono>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "weft/error.h"

namespace weft::fuzz {

inline constexpr int kInputs = 3000;                // of a parser
inline constexpr std::chrono::seconds kLongest{5};  // for one input, also under a sanitizer
inline constexpr long kMostKiB = 1 << 20;           // that a parser may need more than before

class Mutator {
 public:
  // `words`: what a text of this kind is made of.
  Mutator(std::vector<std::string> seeds, std::vector<std::string> words)
      : seeds_(std::move(seeds)), words_(std::move(words)) {
    for (const char* word : {"-1",
                             "0",
                             "2147483647",
                             "2147483648",
                             "-2147483648",
                             "1e400",
                             "18446744073709551615",
                             "99999999999999999999999",
                             "\xff\xfe",
                             "\n",
                             "",
                             " ",
                             "[",
                             "]",
                             "{",
                             "}",
                             ",",
                             ":",
                             "\"",
                             "(",
                             ")",
                             "=",
                             "\t"})
      words_.emplace_back(word);
  }

  std::string next() {
    std::string text = seeds_[below(seeds_.size())];
    for (std::size_t i = 1 + below(5) / 3; i > 0; --i) bend(text);
    return text;
  }

 private:
  std::size_t below(std::size_t end) { return random_() % end; }

  void bend(std::string& text) {
    const std::size_t at = below(text.size() + 1), rest = text.size() - at;
    const std::size_t some = std::min(rest, 1 + below(12));
    switch (below(8)) {
      case 0:
        return text.resize(at);
      case 1:
        return void(text.erase(at, some));
      case 2:
        return void(text.insert(at, text.substr(at, some)));
      case 3:
        return void(text.insert(at, words_[below(words_.size())]));
      case 4:
        return void(text.replace(at, some, words_[below(words_.size())]));
      case 5:
        if (rest > 0) text[at] = static_cast<char>(below(256));
        return;
      case 6:
        return replace_number(text, at);
      default:
        return void(text.insert(at, std::string(1 + below(40), "[{( \xff"[below(5)])));
    }
  }

  // The next number, with another.
  void replace_number(std::string& text, std::size_t at) {
    const std::size_t from = text.find_first_of("0123456789", at);
    if (from == text.npos) return;
    const std::size_t to = std::min(text.find_first_not_of("0123456789", from), text.size());
    const std::array<std::string, 9> numbers = {"0",  "1",     "2",          "3", "7",
                                                "64", "65536", "2147483647", "-1"};
    text.replace(from, to - from, numbers[below(numbers.size())]);
  }

  std::vector<std::string> seeds_, words_;
  std::minstd_rand random_;  // the same in every run
};

// Feeds `parse` with bent texts. Each is read or refused with an Error, soon, in little memory.
inline void expect_read_or_refused(Mutator mutator, const std::function<void(std::string)>& parse) {
  const auto peak = [] {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    return used.ru_maxrss;
  };
  const long before = peak();
  int read = 0, refused = 0;
  for (int i = 0; i < kInputs; ++i) {
    const std::string text = mutator.next();
    const auto start = std::chrono::steady_clock::now();
    try {
      parse(text);
      ++read;
    } catch (const Error&) {
      ++refused;
    } catch (const std::exception& error) {
      FAIL() << "input " << i << " ends with " << error.what() << ":\n" << text;
    }
    ASSERT_LT(std::chrono::steady_clock::now() - start, kLongest) << text;
    ASSERT_LT(peak() - before, kMostKiB) << text;
  }
  // Texts that are all refused at their first word would try nothing.
  EXPECT_GT(read, kInputs / 100);
  EXPECT_GT(refused, kInputs / 100);
}

}  // namespace weft::fuzz
