// Executes machine code of a GPU (SASS) on the CPU, as `sass_program.py` has decoded it.
//
// A warp is 32 lanes in lockstep. Lanes that diverge become groups, each with a place in the code.
// One group of a warp runs until it ends or waits; the next one is random. Groups reconverge where
// the code says so (BSYNC, WARPSYNC, BAR), and nowhere else. Warps and CTAs take turns of random
// length.
//
// Whatever a kernel may not do is an error, which names the instruction: out-of-bounds or
// misaligned access, reads of uninitialized words, races between warps in shared memory (a word
// that another warp wrote or read since the last barrier), a shuffle from an inactive lane, a
// deadlock.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <unordered_set>
#include <vector>

namespace sass {

constexpr int LANES = 32;
constexpr std::uint32_t ALL = ~0u;
constexpr unsigned TRUE = 7;    // the predicate that is always true
constexpr int REGISTERS = 320;  // 0 to 254 and the zero register, then the uniform ones
constexpr std::uint32_t UNWRITTEN = 0xdeadbeef;  // in an array: the kernel has to write it first
constexpr std::uint64_t MAX_STEPS = 100'000'000;  // of a launch

// One number for each lane.
typedef std::uint32_t Vector __attribute__((vector_size(128)));
typedef std::int32_t Signed __attribute__((vector_size(128)));
typedef std::uint16_t Halves __attribute__((vector_size(128)));
typedef std::int16_t SignedHalves __attribute__((vector_size(128)));

// One instruction. A source is a register, or a constant behind them; a predicate is P0 to P6 and
// true, then the uniform ones, plus 128 where it is negated.
struct Instruction {
    std::uint16_t operation, destination, sources[6];
    std::uint8_t guard, uniform, negated, inverted, lower_half;
    std::uint8_t results[2], predicates[2];
    std::uint8_t unused[3];
    std::int32_t offset;
    std::uint32_t detail, target;
};
static_assert(sizeof(Instruction) == 40);

struct Region { std::uint64_t first, end; };  // an array in global memory

// Sums over all warps with all lanes active, for accesses of 1, 2, 4, 8 and 16 bytes a lane.
struct Statistics {
    std::uint64_t loads[5], wavefronts[5];
};

// Shared memory by words, with who touched them since which barrier.
struct Word { std::uint32_t written, read, readers, writer; };

struct Cta {
    unsigned number, alive, at_barrier;
    std::uint32_t epoch;  // barriers so far, from 1
    std::vector<std::uint8_t> shared;
    std::vector<Word> words;
};

struct Group { std::uint32_t lanes, place; };

struct alignas(128) Warp {
    Vector registers[REGISTERS];
    Vector barriers[16];  // the lanes that each lane waits for at a BSYNC
    std::uint32_t predicates[16];
    Group now;
    std::vector<Group> others;
    std::uint32_t alive, waiting, at_barrier;  // waiting for lanes of the warp, or for the CTA
    std::uint32_t reconverges;                 // of those that wait: at a BSYNC, not a WARPSYNC
    std::uint32_t place[LANES], waits_for[LANES];  // of those that wait
    Cta* cta;
    unsigned number, first_thread;
};

class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed * 2 + 1) {}
    std::uint32_t operator()() {
        state_ = state_ * 6364136223846793005u + 1442695040888963407u;
        return std::uint32_t(state_ >> 32);
    }
    std::uint32_t below(std::uint32_t count) { return std::uint64_t((*this)()) * count >> 32; }

private:
    std::uint64_t state_;
};

inline std::uint32_t bits_of(float number) {
    std::uint32_t bits;
    std::memcpy(&bits, &number, sizeof bits);
    return bits;
}
inline float float_of(std::uint32_t bits) {
    float number;
    std::memcpy(&number, &bits, sizeof number);
    return number;
}

inline std::uint32_t word_at(std::uint64_t address) {
    std::uint32_t word;
    std::memcpy(&word, reinterpret_cast<const void*>(address), sizeof word);
    return word;
}

inline int log2_of(unsigned size) { return __builtin_ctz(size); }

class Interpreter {
public:
    Interpreter(const Instruction* code, unsigned count, const std::uint32_t* constants,
                unsigned constant_count, const Region* regions, unsigned region_count,
                unsigned shared_first, Statistics* statistics, std::uint64_t* executed,
                std::uint64_t seed)
        : code_(code), count_(count), regions_(regions), region_count_(region_count),
          shared_first_(shared_first), statistics_(statistics), executed_(executed), random_(seed) {
        for (unsigned k = 0; k < region_count; ++k)
            for (std::uint64_t at = regions[k].first; at + 4 <= regions[k].end; at += 4)
                if (word_at(at) == UNWRITTEN) unwritten_.insert(at);
        for (unsigned i = 0; i < constant_count; ++i) constants_.push_back(Vector{} + constants[i]);
        for (int i = 0; i < LANES; ++i) lane_bits_[i] = 1u << i, lane_numbers_[i] = i;
    }

    void run(unsigned ctas, unsigned threads, std::size_t shared_bytes) {
        ctas_.resize(ctas);
        warps_ = std::vector<Warp>(ctas * threads / LANES);
        Warp* warp = warps_.data();
        for (unsigned c = 0; c < ctas; ++c) {
            Cta& cta = ctas_[c];
            cta = {c, threads, 0, 1, {}, {}};
            cta.shared.resize(shared_bytes);
            cta.words.resize((shared_bytes + 3) / 4);
            for (unsigned first = 0; first < threads; first += LANES, ++warp)
                set_up(*warp, cta, first);
        }
        while (Warp* next = choose_warp()) {
            turn_ = 1u << random_.below(12);
            run_warp(*next);
        }
    }

    unsigned place() const { return place_; }

private:
    void set_up(Warp& warp, Cta& cta, unsigned first) {
        warp.cta = &cta;
        warp.first_thread = first;
        warp.number = first / LANES;
        warp.alive = ALL;
        warp.waiting = warp.at_barrier = warp.reconverges = 0;
        warp.now = {ALL, 0};
        for (auto& number : warp.registers)
            for (int i = 0; i < LANES; ++i) number[i] = random_();
        warp.registers[255] = warp.registers[319] = Vector{};
        for (auto& predicate : warp.predicates) predicate = random_();
        for (int i = 8; i < 15; ++i) warp.predicates[i] = random_() & 1 ? ALL : 0;
        warp.predicates[7] = warp.predicates[15] = ALL;
        for (auto& barrier : warp.barriers) barrier = Vector{};
    }

    [[noreturn]] void fail(const char* format, ...) const __attribute__((format(printf, 2, 3))) {
        char text[300];
        va_list arguments;
        va_start(arguments, format);
        std::vsnprintf(text, sizeof text, format, arguments);
        va_end(arguments);
        throw std::runtime_error(text);
    }

    [[noreturn]] void fail_at(const Warp& warp, int lane, const char* what,
                              std::uint64_t value) const {
        fail("CTA %u, warp %u, lane %d: %s 0x%llx", warp.cta->number, warp.number, lane, what,
             static_cast<unsigned long long>(value));
    }

    // A random warp that is ready; null if all have returned.
    Warp* choose_warp() {
        const std::size_t count = warps_.size(), start = random_.below(count);
        for (std::size_t k = 0; k < count; ++k) {
            Warp& warp = warps_[(start + k) % count];
            if (warp.now.lanes || !warp.others.empty()) return &warp;
        }
        for (Warp& warp : warps_)
            if (warp.alive)
                fail("CTA %u, warp %u deadlocks: lanes %08x at a barrier of the CTA, "
                     "lanes %08x for others, the first at 0x%x", warp.cta->number, warp.number,
                     warp.at_barrier, warp.waiting,
                     warp.waiting ? warp.place[__builtin_ctz(warp.waiting)] * 16 : 0);
        return nullptr;
    }

    // Runs a warp until its turn is over or all its lanes wait.
    void run_warp(Warp& warp) {
        for (; turn_; --turn_) {
            if (!warp.now.lanes) {
                if (warp.others.empty()) return;
                switch_group(warp);
            }
            if (++steps_ > MAX_STEPS)
                fail("more than %llu instructions", static_cast<unsigned long long>(MAX_STEPS));
            place_ = warp.now.place;
            if (place_ >= count_) fail("control leaves the code");
            ++executed_[place_];
            step(warp, code_[place_]);
        }
    }

    void switch_group(Warp& warp) {
        std::swap(warp.others[random_.below(warp.others.size())], warp.others.back());
        warp.now = warp.others.back();
        warp.others.pop_back();
    }

    // Reading and writing -------------------------------------------------------------------------

    const Vector& slot(const Warp& warp, unsigned number) const {
        return number < REGISTERS ? warp.registers[number] : constants_[number - REGISTERS];
    }
    Vector source(const Warp& warp, const Instruction& it, int k) const {
        Vector value = slot(warp, it.sources[k]);
        if (it.inverted >> k & 1) value = ~value;
        if (it.negated >> k & 1) value = -value;
        return value;
    }
    static std::uint32_t predicate(const Warp& warp, unsigned number) {
        const std::uint32_t lanes = warp.predicates[number & 15];
        return number & 128 ? ~lanes : lanes;
    }
    Vector mask(std::uint32_t lanes) const {
        return reinterpret_cast<Vector>(((lane_bits_ & lanes) != 0));
    }
    void write(Warp& warp, unsigned number, const Vector& value, std::uint32_t lanes) const {
        if (number == 255 || number == 319) return;
        Vector& into = warp.registers[number];
        if (lanes == ALL) {
            into = value;
        } else {
            const Vector chosen = mask(lanes);
            into = (value & chosen) | (into & ~chosen);
        }
    }
    static void write_predicate(Warp& warp, unsigned number, std::uint32_t value,
                                std::uint32_t lanes) {
        if ((number & 7) == 7) return;
        std::uint32_t& into = warp.predicates[number];
        into = (value & lanes) | (into & ~lanes);
    }
    std::uint32_t lanes_of(const Signed& truth) const {
        std::uint32_t lanes = 0;
        for (int i = 0; i < LANES; ++i) lanes |= std::uint32_t(truth[i] != 0) << i;
        return lanes;
    }
    template <class Function> static Vector each(const Function& function) {
        Vector result;
        for (int i = 0; i < LANES; ++i) result[i] = function(i);
        return result;
    }

    // One instruction -----------------------------------------------------------------------------

    void step(Warp& warp, const Instruction& it) {
        const std::uint32_t active = warp.now.lanes;
        const std::uint32_t chosen = active & predicate(warp, it.guard);
        // The uniform registers belong to the warp: any active lane writes them.
        const std::uint32_t lanes = it.uniform && chosen ? ALL : chosen;
        ++warp.now.place;
        if (!chosen && it.operation < BRA) return;
        const auto in = [&](int k) { return source(warp, it, k); };
        const auto out = [&](const Vector& value) { write(warp, it.destination, value, lanes); };
        switch (it.operation) {
        case MOVE: out(in(0)); break;
        case ADD: out(in(0) + in(1)); break;
        case ADD3: out(in(0) + in(1) + in(2)); break;
        case ADD3_CARRY: add_with_carry(warp, it, lanes); break;
        case ADD_HALVES:
            out(Vector(Halves(in(0)) + Halves(in(1))));
            break;
        case MAD: out(in(0) * in(1) + in(2)); break;
        case MAD_CARRY:
            out(in(0) * in(1) + in(2) - mask(predicate(warp, it.predicates[0])));
            break;
        case MAD_WIDE: case MAD_HIGH: multiply_wide(warp, it, lanes); break;
        case LOGIC: {
            const Vector value = logic(it.detail & 255, in(0), in(1), in(2));
            out(value);
            if (it.results[0] != TRUE)
                write_predicate(warp, it.results[0], lanes_of(value != 0), lanes);
            break;
        }
        case PREDICATE_LOGIC: {
            std::uint32_t given[3];
            for (int k = 0; k < 3; ++k) given[k] = predicate(warp, it.sources[k]);
            for (int k = 0; k < 2; ++k)
                write_predicate(
                    warp, it.results[k],
                    logic(it.detail >> 8 * k & 255, given[0], given[1], given[2]), lanes);
            break;
        }
        case COMPARE: compare(warp, it, lanes); break;
        case SELECT: {
            const Vector first = mask(predicate(warp, it.predicates[0]));
            out((in(0) & first) | (in(1) & ~first));
            break;
        }
        case PERMUTE: out(permute(in(0), in(1), in(2), it.sources[1] >= REGISTERS)); break;
        case SHIFT: out(shift(it, in(0), in(1), in(2))); break;
        case SHIFT_ADD: shift_add(warp, it, lanes); break;
        case SHIFT_ADD_HIGH: {
            const Vector low = in(0), added = in(1);
            const Vector high = it.detail ? Vector(Signed(low) >> 31) : in(2);
            const unsigned by = it.offset;
            const std::uint32_t carry = predicate(warp, it.predicates[0]);
            out(each([&](int i) {
                const std::uint64_t wide = std::uint64_t(high[i]) << 32 | low[i];
                return std::uint32_t(wide << by >> 32) + added[i] + (carry >> i & 1);
            }));
            break;
        }
        case MINMAX_S32: out(minmax<Signed>(warp, it)); break;
        case MINMAX_U32: out(minmax<Vector>(warp, it)); break;
        case MINMAX_S16: out(minmax<SignedHalves>(warp, it)); break;
        case MINMAX_U16: out(minmax<Halves>(warp, it)); break;
        case COUNT_ONES: {
            const Vector a = in(0);
            out(each([&](int i) { return std::uint32_t(__builtin_popcount(a[i])); }));
            break;
        }
        case FIND_ONE: {
            const Vector a = in(0);
            out(each([&](int i) { return a[i] ? 31u - __builtin_clz(a[i]) : ALL; }));
            break;
        }
        case HALF_ADD: case HALF_MAX: case HALF_FMA: half_arithmetic(warp, it, lanes); break;
        case HALF_OF_INT: {
            const Vector a = in(0);
            out(each([&](int i) { return half2_of(std::int32_t(a[i]), 0) & 0xffff; }));
            break;
        }
        case INT_OF_HALF: {
            const Vector a = in(0);
            out(each([&](int i) { return std::uint32_t(half_to_int(a[i] & 0xffff)); }));
            break;
        }
        case FLOAT_OF_UINT: {  // rounded up
            const Vector a = in(0);
            out(each([&](int i) {
                float number = float(a[i]);
                if (double(number) < double(a[i])) number = std::nextafter(number, INFINITY);
                return bits_of(number);
            }));
            break;
        }
        case RECIPROCAL: {
            const Vector a = in(0);
            out(each([&](int i) { return bits_of(1.0f / float_of(a[i])); }));
            break;
        }
        case UINT_OF_FLOAT: {  // towards zero
            const Vector a = in(0);
            out(each([&](int i) {
                const double number = float_of(a[i]);
                if (!(number > 0)) return 0u;
                return number >= 4294967295.0 ? ALL : std::uint32_t(number);
            }));
            break;
        }
        case SPECIAL: out(special(warp, it.detail)); break;
        case VOTE: {
            const std::uint32_t ballot = chosen & predicate(warp, it.predicates[0]);
            out(Vector{} + ballot);
            const bool truth = it.detail ? ballot == chosen : ballot != 0;
            write_predicate(warp, it.results[0], truth ? ALL : 0, lanes);
            break;
        }
        case REDUCE: {
            const Vector a = in(0);
            const bool least = it.detail & 1;
            const std::uint32_t sign = it.detail & 2 ? 1u << 31 : 0;  // turned, it sorts as unsigned
            std::uint32_t best = least ? ALL : 0;
            for (std::uint32_t rest = chosen; rest; rest &= rest - 1) {
                const std::uint32_t mine = a[__builtin_ctz(rest)] ^ sign;
                best = least ? std::min(best, mine) : std::max(best, mine);
            }
            out(Vector{} + (best ^ sign));
            break;
        }
        case TO_UNIFORM: {
            const Vector a = in(0);
            const std::uint32_t first = a[__builtin_ctz(chosen)];
            for (std::uint32_t rest = chosen; rest; rest &= rest - 1)
                if (a[__builtin_ctz(rest)] != first)
                    fail_at(warp, __builtin_ctz(rest), "has another number than the first:",
                            a[__builtin_ctz(rest)]);
            out(Vector{} + first);
            break;
        }
        case SHUFFLE: shuffle(warp, it, chosen); break;
        case LOAD_GLOBAL: case STORE_GLOBAL: case ATOMIC: global(warp, it, chosen); break;
        case LOAD_SHARED: case STORE_SHARED: shared(warp, it, chosen); break;
        case BRA: {
            const std::uint32_t taken = chosen & predicate(warp, it.predicates[0]);
            diverge(warp, taken, it.target);
            break;
        }
        case BRA_DIVERGENT: case BRA_CONVERGED: {
            const bool together = active == (source(warp, it, 0)[0] & warp.alive);
            if (together == (it.operation == BRA_CONVERGED)) diverge(warp, chosen, it.target);
            break;
        }
        case RETURN: {
            const Vector to = in(0);
            std::uint32_t rest = chosen;
            while (rest) {
                const std::uint32_t address = to[__builtin_ctz(rest)];
                if (address % 16) fail_at(warp, __builtin_ctz(rest), "returns to", address);
                const std::uint32_t with = rest & lanes_of(to == address);
                diverge(warp, with, address / 16);
                rest &= ~with;
                if (rest) fail("lanes return to different places");
            }
            break;
        }
        case EXIT: {
            const std::uint32_t done = chosen & predicate(warp, it.predicates[0]);
            warp.alive &= ~done;
            warp.now.lanes &= ~done;
            warp.cta->alive -= __builtin_popcount(done);
            release(warp);
            release_barrier(*warp.cta);
            break;
        }
        case BSSY:
            if (chosen) write_barrier(warp, it.detail, active);
            break;
        case BSYNC:
            warp.reconverges |= chosen;
            wait(warp, chosen, [&](int lane) { return warp.barriers[it.detail][lane]; });
            break;
        case WARPSYNC: {
            const Vector with = in(0);
            warp.reconverges &= ~chosen;
            wait(warp, chosen, [&](int lane) { return with[lane]; });
            break;
        }
        case BARRIER:
            warp.at_barrier |= chosen;
            for (int i = 0; i < LANES; ++i)
                if (chosen >> i & 1) warp.place[i] = warp.now.place;
            warp.now.lanes &= ~chosen;
            warp.cta->at_barrier += __builtin_popcount(chosen);
            release_barrier(*warp.cta);
            break;
        case YIELD: yield(warp, chosen); break;
        case NOP: break;
        default: fail("no such operation: %u", it.operation);
        }
    }

    template <class T> static T logic(unsigned table, const T& a, const T& b, const T& c) {
        T result{};
        for (unsigned k = 0; k < 8; ++k)
            if (table >> k & 1) result |= (k & 4 ? a : ~a) & (k & 2 ? b : ~b) & (k & 1 ? c : ~c);
        return result;
    }

    // -a is ~a + 1 here: what is carried depends on it.
    void add_with_carry(Warp& warp, const Instruction& it, std::uint32_t lanes) {
        const Vector a = slot(warp, it.sources[0]), b = slot(warp, it.sources[1]),
                     c = slot(warp, it.sources[2]);
        const std::uint32_t first = predicate(warp, it.predicates[0]),
                            second = predicate(warp, it.predicates[1]);
        std::uint32_t carried = 0;
        const auto term = [&](int k, std::uint32_t value) {
            const bool minus = it.negated >> k & 1, other = it.inverted >> k & 1;
            return std::uint64_t(minus || other ? ~value : value) + minus;
        };
        const Vector sum = each([&](int i) {
            const std::uint64_t wide = term(0, a[i]) + term(1, b[i]) + term(2, c[i])
                + (first >> i & 1) + (second >> i & 1);
            if (wide >> 33 && (it.results[0] & 7) != 7) fail_at(warp, i, "carries", wide >> 32);
            carried |= std::uint32_t(wide >> 32 & 1) << i;
            return std::uint32_t(wide);
        });
        write(warp, it.destination, sum, lanes);
        write_predicate(warp, it.results[0], carried, lanes);
    }

    // Sources 2 and 3 are the words of the number that is added to the product.
    void multiply_wide(Warp& warp, const Instruction& it, std::uint32_t lanes) {
        const Vector a = source(warp, it, 0), b = source(warp, it, 1), low = source(warp, it, 2),
                     high = source(warp, it, 3);
        Vector results[2];
        for (int i = 0; i < LANES; ++i) {
            const std::uint64_t added = std::uint64_t(high[i]) << 32 | low[i];
            const std::uint64_t product = it.detail
                ? std::uint64_t(std::int64_t(std::int32_t(a[i])) * std::int32_t(b[i]))
                : std::uint64_t(a[i]) * b[i];
            results[0][i] = std::uint32_t(product + added);
            results[1][i] = std::uint32_t((product + added) >> 32);
        }
        if (it.operation == MAD_HIGH) return write(warp, it.destination, results[1], lanes);
        write(warp, it.destination, results[0], lanes);
        write(warp, it.destination + 1, results[1], lanes);
    }

    // detail: 0 to 5 for < = <= > != >=; 8: signed; 16: or instead of and; 32: the upper words of
    // numbers whose lower words were compared before.
    void compare(Warp& warp, const Instruction& it, std::uint32_t lanes) {
        const Vector a = source(warp, it, 0), b = source(warp, it, 1);
        const Signed x = Signed(a), y = Signed(b);
        const bool is_signed = it.detail & 8;
        const std::uint32_t equal = lanes_of(a == b);
        const std::uint32_t less = lanes_of(is_signed ? Signed(x < y) : Signed(a < b));
        std::uint32_t truth = 0;
        switch (it.detail & 7) {
        case 0: truth = less; break;
        case 1: truth = equal; break;
        case 2: truth = less | equal; break;
        case 3: truth = ~(less | equal); break;
        case 4: truth = ~equal; break;
        default: truth = ~less;
        }
        if (it.detail & 32)
            truth = (truth & ~equal) | (equal & predicate(warp, it.predicates[1]));
        const std::uint32_t with = predicate(warp, it.predicates[0]);
        const bool either = it.detail & 16;
        const std::uint32_t first = either ? truth | with : truth & with;
        const std::uint32_t second = either ? ~truth | with : ~truth & with;
        write_predicate(warp, it.results[0], first, lanes);
        write_predicate(warp, it.results[1], second, lanes);
    }

    // Each nibble of the selector takes one of eight bytes, or its sign.
    static Vector permute(const Vector& a, const Vector& selector, const Vector& b, bool constant) {
        Vector result{};
        if (constant) {
            for (int k = 0; k < 4; ++k) {
                const unsigned nibble = selector[0] >> 4 * k & 15;
                Vector byte = ((nibble & 4 ? b : a) >> 8 * (nibble & 3)) & 0xff;
                if (nibble & 8) byte = (byte >> 7) * 0xff;
                result |= byte << 8 * k;
            }
            return result;
        }
        for (int i = 0; i < LANES; ++i) {
            const std::uint64_t bytes = std::uint64_t(b[i]) << 32 | a[i];
            for (int k = 0; k < 4; ++k) {
                const unsigned nibble = selector[i] >> 4 * k & 15;
                std::uint32_t byte = bytes >> 8 * (nibble & 7) & 0xff;
                if (nibble & 8) byte = (byte >> 7) * 0xff;
                result[i] |= byte << 8 * k;
            }
        }
        return result;
    }

    // A word of source 2 and source 0, side by side, shifted. detail: 1 right, 2 signed, 4 the
    // upper word, 8 numbers of 64 bits (which bounds the shift).
    static Vector shift(const Instruction& it, const Vector& low, const Vector& by,
                        const Vector& high) {
        return each([&](int i) {
            const std::uint64_t wide = std::uint64_t(high[i]) << 32 | low[i];
            const unsigned bits = std::min(by[i], it.detail & 8 ? 63u : 32u);
            std::uint64_t result = wide << bits;
            if (it.detail & 1)
                result = it.detail & 2 ? std::uint64_t(std::int64_t(wide) >> bits) : wide >> bits;
            return std::uint32_t(it.detail & 4 ? result >> 32 : result);
        });
    }

    void shift_add(Warp& warp, const Instruction& it, std::uint32_t lanes) {
        const Vector a = source(warp, it, 0) << it.offset, sum = a + source(warp, it, 1);
        write(warp, it.destination, sum, lanes);
        write_predicate(warp, it.results[0], lanes_of(sum < a), lanes);
    }

    // detail: 1 add the first two, 2 three numbers, 4 at least 0. The minimum where the predicate
    // is true.
    template <class T> Vector minmax(const Warp& warp, const Instruction& it) const {
        const std::uint32_t smaller = predicate(warp, it.predicates[0]);
        const auto best = [&](const T& a, const T& b) {
            if (smaller == 0) return a > b ? a : b;
            if (smaller == ALL) return a < b ? a : b;
            const Vector least = mask(smaller);
            return T((Vector(a < b ? a : b) & least) | (Vector(a > b ? a : b) & ~least));
        };
        const T a = T(source(warp, it, 0)), b = T(source(warp, it, 1));
        T result = it.detail & 1 ? T(a + b) : best(a, b);
        if (it.detail & 3) result = best(result, T(source(warp, it, 2)));
        if (it.detail & 4) result = result > 0 ? result : T{};
        return Vector(result);
    }

    void half_arithmetic(Warp& warp, const Instruction& it, std::uint32_t lanes) {
        Vector given[3];
        for (int k = 0; k < 3; ++k) {
            given[k] = slot(warp, it.sources[k]);
            if (it.lower_half >> k & 1) given[k] = (given[k] & 0xffff) * 0x10001;
            if (it.negated >> k & 1) given[k] ^= 0x80008000;
        }
        const auto& [a, b, c] = given;
        write(warp, it.destination, each([&](int i) -> std::uint32_t {
            if (it.operation == HALF_ADD) return half2_add(a[i], b[i]);
            if (it.operation == HALF_MAX) return half2_max(a[i], b[i]);
            if (it.detail) return half2_fma_relu(a[i], b[i], c[i]);
            return host::canonical(host::multiply_add(a[i], b[i], c[i]));
        }), lanes);
    }

    Vector special(const Warp& warp, unsigned which) const {
        switch (which) {
        case THREAD: return lane_numbers_ + warp.first_thread;
        case CTA: return Vector{} + warp.cta->number;
        case LANE: return lane_numbers_;
        case LOWER_LANES: return lane_bits_ - 1;
        default: return Vector{};  // a CTA is number 0 of its cluster
        }
    }

    // PTX's shfl: a lane asks another of its segment, or keeps what it has.
    void shuffle(Warp& warp, const Instruction& it, std::uint32_t lanes) {
        const Vector given = source(warp, it, 0), by = source(warp, it, 1),
                     form = source(warp, it, 2);
        Vector result = given;
        std::uint32_t inside = 0;
        for (std::uint32_t rest = lanes; rest; rest &= rest - 1) {
            const int lane = __builtin_ctz(rest), segment = form[lane] >> 8 & 31,
                      clamp = form[lane] & 31, distance = by[lane] & 31;
            const int last = (lane & segment) | (clamp & ~segment), first = lane & segment;
            int from = lane;
            bool within = false;
            switch (it.detail) {
            case UP: from = lane - distance; within = from >= last; break;
            case DOWN: from = lane + distance; within = from <= last; break;
            case BUTTERFLY: from = lane ^ distance; within = from <= last; break;
            default: from = first | (distance & ~segment); within = from <= last;
            }
            if (!within) from = lane;
            if (!(lanes >> from & 1)) fail_at(warp, lane, "shuffles from an inactive lane:", from);
            inside |= std::uint32_t(within) << lane;
            result[lane] = given[from];
        }
        write(warp, it.destination, result, lanes);
        write_predicate(warp, it.results[0], inside, lanes);
    }

    // Memory --------------------------------------------------------------------------------------

    // Sources 0 and 1 are the words of the address, 2 to 5 what is stored; detail is 1 to 16 bytes,
    // plus 256 where a smaller number is signed.
    void global(Warp& warp, const Instruction& it, std::uint32_t lanes) {
        const Vector low = source(warp, it, 0), high = source(warp, it, 1);
        const unsigned size = it.detail & 31;
        for (std::uint32_t rest = lanes; rest; rest &= rest - 1) {
            const int lane = __builtin_ctz(rest);
            const std::uint64_t address =
                (std::uint64_t(high[lane]) << 32 | low[lane]) + std::int64_t(it.offset);
            if (address % size) fail_at(warp, lane, "misaligned access at", address);
            if (!known(address, size)) fail_at(warp, lane, "out-of-bounds access at", address);
            if (!unwritten_.empty())
                for (std::uint64_t at = address & ~3; at < address + size; at += 4) {
                    if (!unwritten_.count(at)) continue;
                    if (it.operation != STORE_GLOBAL)
                        fail_at(warp, lane, "reads uninitialized memory at", at);
                    unwritten_.erase(at);
                }
            auto* memory = reinterpret_cast<std::uint8_t*>(address);
            if (it.operation == ATOMIC) change(warp, it, lane, memory);
            else move(warp, it, lane, memory, size, it.operation == STORE_GLOBAL);
        }
    }

    bool known(std::uint64_t address, unsigned size) {
        const auto within = [&](const Region& region) {
            return region.first <= address && address + size <= region.end;
        };
        if (last_region_ < region_count_ && within(regions_[last_region_])) return true;
        const Region* const end = regions_ + region_count_;
        const Region* at = std::upper_bound(regions_, end, address,
            [](std::uint64_t value, const Region& region) { return value < region.first; });
        if (at == regions_ || !within(*--at)) return false;
        last_region_ = at - regions_;
        return true;
    }

    void move(Warp& warp, const Instruction& it, int lane, std::uint8_t* memory, unsigned size,
              bool store) const {
        std::uint32_t words[4] = {};
        if (store) {
            for (unsigned k = 0; 4 * k < size; ++k) words[k] = slot(warp, it.sources[2 + k])[lane];
            std::memcpy(memory, words, size);
            return;
        }
        std::memcpy(words, memory, size);
        const unsigned unused = 32 - 8 * size;
        if (it.detail & 256) words[0] = std::int32_t(words[0] << unused) >> unused;
        for (unsigned k = 0; 4 * k < size; ++k) warp.registers[it.destination + k][lane] = words[k];
    }

    void change(Warp& warp, const Instruction& it, int lane, std::uint8_t* memory) const {
        std::uint32_t old;
        std::memcpy(&old, memory, sizeof old);
        const std::uint32_t by = slot(warp, it.sources[2])[lane];
        std::uint32_t now = old + by;
        if (it.target == MAX_S32) now = std::max(std::int32_t(old), std::int32_t(by));
        std::memcpy(memory, &now, sizeof now);
        if (it.destination != 255) warp.registers[it.destination][lane] = old;
    }

    void shared(Warp& warp, const Instruction& it, std::uint32_t lanes) {
        const Vector addresses =
            (source(warp, it, 0) << it.target) + source(warp, it, 1) + it.offset;
        const unsigned size = it.detail & 31;
        const bool store = it.operation == STORE_SHARED;
        Cta& cta = *warp.cta;
        for (std::uint32_t rest = lanes; rest; rest &= rest - 1) {
            const int lane = __builtin_ctz(rest);
            const std::uint32_t address = addresses[lane], at = address - shared_first_;
            if (address % size)
                fail_at(warp, lane, "misaligned access to shared memory at", address);
            if (address < shared_first_ || at + std::uint64_t(size) > cta.shared.size())
                fail_at(warp, lane, "out-of-bounds access to shared memory at", address);
            for (std::uint32_t k = at / 4; k < (at + size + 3) / 4; ++k) {
                if (store) check_write(warp, lane, cta.words[k], k * 4);
                else check_read(warp, lane, cta.words[k], k * 4);
            }
            move(warp, it, lane, cta.shared.data() + at, size, store);
        }
        if (!store && lanes == ALL) {
            statistics_->loads[log2_of(size)] += 1;
            statistics_->wavefronts[log2_of(size)] += wavefronts(addresses, size);
        }
    }

    void check_read(Warp& warp, int lane, Word& word, std::uint32_t at) const {
        const Cta& cta = *warp.cta;
        if (!word.written) fail_at(warp, lane, "reads uninitialized shared memory, byte", at);
        if (word.written == cta.epoch && word.writer != warp.number)
            fail_at(warp, lane, "reads what another warp wrote since the last barrier, byte", at);
        if (word.read != cta.epoch) word.read = cta.epoch, word.readers = 0;
        word.readers |= 1u << warp.number;
    }
    void check_write(Warp& warp, int lane, Word& word, std::uint32_t at) const {
        const Cta& cta = *warp.cta;
        if (word.written == cta.epoch && word.writer != warp.number)
            fail_at(warp, lane, "writes what another warp wrote since the last barrier, byte", at);
        if (word.read == cta.epoch && word.readers & ~(1u << warp.number))
            fail_at(warp, lane, "writes what another warp read since the last barrier, byte", at);
        word.written = cta.epoch, word.writer = warp.number;
    }

    // As many lanes as can ask for 128 bytes are served side by side; each bank gives them one word
    // at a time, to all that ask for it.
    static unsigned wavefronts(const Vector& addresses, unsigned size) {
        const unsigned unit = std::max(size, 4u), side = 128 / unit;
        unsigned total = 0;
        for (unsigned first = 0; first < LANES; first += side) {
            std::uint32_t asked[LANES][LANES];
            unsigned counts[LANES] = {}, most = 0;
            for (unsigned lane = first; lane < first + side; ++lane) {
                const std::uint32_t block = addresses[lane] / unit, bank = block % side;
                std::uint32_t* const end = asked[bank] + counts[bank];
                if (std::find(asked[bank], end, block) != end) continue;
                *end = block;
                most = std::max(most, ++counts[bank]);
            }
            total += most;
        }
        return total;
    }

    // Divergence ----------------------------------------------------------------------------------

    // Some of the active lanes branch; which ones run first is random.
    void diverge(Warp& warp, std::uint32_t taken, std::uint32_t target) {
        const std::uint32_t stay = warp.now.lanes & ~taken;
        if (!taken) return;
        if (!stay) {
            warp.now.place = target;
        } else if (random_.below(2)) {
            warp.others.push_back({taken, target});
            warp.now.lanes = stay;
        } else {
            warp.others.push_back({stay, warp.now.place});
            warp.now = {taken, target};
        }
    }

    void write_barrier(Warp& warp, unsigned number, std::uint32_t lanes) const {
        const Vector chosen = mask(lanes);
        Vector& into = warp.barriers[number];
        into = ((Vector{} + lanes) & chosen) | (into & ~chosen);
    }

    // Lanes that yield let others go first, also those that wait for them at a BSYNC.
    void yield(Warp& warp, std::uint32_t lanes) {
        if (!lanes || lanes == warp.alive) return;
        for (Vector& barrier : warp.barriers) barrier &= ~(Vector{} + lanes) | mask(lanes);
        for (std::uint32_t rest = warp.waiting & warp.reconverges; rest; rest &= rest - 1)
            warp.waits_for[__builtin_ctz(rest)] &= ~lanes;
        release(warp);
        if (!warp.others.empty() && random_.below(2)) {
            warp.others.push_back(warp.now);
            switch_group(warp);
        }
    }

    // Lanes wait until all that they wait for wait at the same place, or have returned.
    template <class Masks> void wait(Warp& warp, std::uint32_t lanes, const Masks& masks) {
        if (!lanes) return;
        for (std::uint32_t rest = lanes; rest; rest &= rest - 1) {
            const int lane = __builtin_ctz(rest);
            warp.waits_for[lane] = masks(lane);
            warp.place[lane] = warp.now.place;
            if (!(warp.waits_for[lane] >> lane & 1))
                fail_at(warp, lane, "waits for lanes without itself:", warp.waits_for[lane]);
        }
        warp.waiting |= lanes;
        warp.now.lanes &= ~lanes;
        release(warp);
    }

    void release(Warp& warp) {
        for (std::uint32_t rest = warp.waiting; rest; rest &= rest - 1) {
            const int lane = __builtin_ctz(rest);
            const std::uint32_t all = warp.waits_for[lane] & warp.alive;
            if (!(warp.waiting >> lane & 1) || (all & warp.waiting) != all) continue;
            bool together = true;
            for (std::uint32_t other = all; other; other &= other - 1) {
                const int k = __builtin_ctz(other);
                together &= warp.place[k] == warp.place[lane];
                together &= warp.waits_for[k] == warp.waits_for[lane];
            }
            if (!together) continue;
            warp.waiting &= ~all;
            warp.others.push_back({all, warp.place[lane]});
        }
    }

    void release_barrier(Cta& cta) {
        if (cta.at_barrier != cta.alive || !cta.alive) return;
        ++cta.epoch;
        cta.at_barrier = 0;
        for (Warp& warp : warps_) {
            if (warp.cta != &cta) continue;
            while (warp.at_barrier) {
                const int lane = __builtin_ctz(warp.at_barrier);
                std::uint32_t with = 0;
                for (int k = 0; k < LANES; ++k)
                    with |= std::uint32_t(warp.place[k] == warp.place[lane]) << k;
                with &= warp.at_barrier;
                warp.at_barrier &= ~with;
                warp.others.push_back({with, warp.place[lane]});
            }
        }
    }

    const Instruction* code_;
    unsigned count_;
    std::vector<Vector> constants_;
    const Region* regions_;
    unsigned region_count_, last_region_ = 0;
    unsigned shared_first_;
    Statistics* statistics_;
    std::uint64_t* executed_;  // how often, of each instruction
    std::unordered_set<std::uint64_t> unwritten_;  // addresses of words
    Random random_;
    std::uint64_t steps_ = 0;
    unsigned turn_ = 0, place_ = 0;
    std::vector<Cta> ctas_;
    std::vector<Warp> warps_;
    Vector lane_bits_, lane_numbers_;
};

}  // namespace sass

// Returns nullptr, or what went wrong, with the line of `texts` that stands for the instruction.
extern "C" __attribute__((visibility("default")))
const char* run(const sass::Instruction* code, unsigned count, const char* texts,
                const std::uint32_t* constants, unsigned constant_count,
                const sass::Region* regions, unsigned region_count, unsigned shared_first,
                sass::Statistics* statistics, std::uint64_t* executed, unsigned ctas,
                unsigned threads, unsigned long shared_bytes, unsigned long seed) {
    static char message[600];
    auto interpreter = std::make_unique<sass::Interpreter>(
        code, count, constants, constant_count, regions, region_count, shared_first, statistics,
        executed, seed);
    try {
        interpreter->run(ctas, threads, shared_bytes);
        return nullptr;
    } catch (const std::runtime_error& error) {
        const char* line = texts;
        for (unsigned k = 0; k < interpreter->place(); ++k) line += std::strcspn(line, "\n") + 1;
        std::snprintf(message, sizeof message, "%.*s: %s", int(std::strcspn(line, "\n")), line,
                      error.what());
        return message;
    }
}
