// The processor's arithmetic as the library promises it. Included by each isa_*.cc after pack.h, in
// the same anonymous namespace.

// A thread may flush denormals to zero (torch.set_flush_denormal) or round otherwise; its ranks'
// results would differ from the others'. While one of these lives the thread does neither.
class Exact {
 public:
  Exact() : saved_(read()) {
    if (saved_ & kInexact) write(saved_ & ~kInexact);
    fence();
  }
  ~Exact() {
    fence();
    if (saved_ & kInexact) write(saved_);
  }
  Exact(const Exact&) = delete;
  Exact& operator=(const Exact&) = delete;

 private:
  // No load moves before, no store after: so neither does what is computed between them.
  static WEFT_INLINE void fence() { __asm__ volatile("" ::: "memory"); }

#if defined(__x86_64__)
  using Word = std::uint32_t;
  static constexpr Word kInexact = 0xe040;  // MXCSR: flush to zero, rounding, denormals are zero
  static WEFT_INLINE Word read() { return __builtin_ia32_stmxcsr(); }
  static WEFT_INLINE void write(Word word) { __builtin_ia32_ldmxcsr(word); }
#elif defined(__aarch64__)
  using Word = std::uint64_t;
  static constexpr Word kInexact = 0x1c80000;  // FPCR: FZ, rounding mode, FZ16
  static WEFT_INLINE Word read() {
    Word word;
    __asm__ volatile("mrs %0, fpcr" : "=r"(word));
    return word;
  }
  static WEFT_INLINE void write(Word word) { __asm__ volatile("msr fpcr, %0" : : "r"(word)); }
#else
  using Word = std::uint32_t;
  static constexpr Word kInexact = 0;
  static WEFT_INLINE Word read() { return 0; }
  static WEFT_INLINE void write(Word) {}
#endif

  const Word saved_;
};
