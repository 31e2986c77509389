// A grid of CTAs on the CPU: every thread is a fibre, and fibres change places only where they wait
// for each other. Who goes on is drawn by lot from a seed, over lanes, warps and CTAs, so that a
// kernel which needs a barrier that it does not have comes out wrong.

#pragma once

#include <algorithm>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "context.h"

namespace host {

constexpr int WARP = 32;

// Grids and CTAs have one dimension.
struct Index {
    unsigned int x;
};

// The kind of a meeting of lanes; shuffles add their width.
enum Operation : unsigned {
    SYNC = 0,
    SHUFFLE = 100,
    SHUFFLE_UP = 200,
    SHUFFLE_XOR = 300
};

// Steele, Lea, Flood (2014): splitmix.
struct Random {
    std::uint64_t state;
    std::uint64_t operator()() {
        std::uint64_t z = state += 0x9e3779b97f4a7c15;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }
    unsigned below(std::size_t bound) { return unsigned((*this)() % bound); }
};

struct Cta {
    unsigned int number;
    unsigned int alive;         // threads that have not returned
    unsigned int at_barrier;    // of these, those that wait for the others
    std::byte* shared;
};

struct Warp {
    Cta* cta;
    unsigned int first_thread;
    unsigned int alive;         // bit l: lane l has not returned
    unsigned int ready;         // ... can go on
    unsigned int meeting;       // ... waits for other lanes of its mask
    unsigned int at_barrier;    // ... waits for the CTA
    unsigned int mask[WARP];    // what the lane called for
    unsigned int operation[WARP];
    std::uint64_t given[WARP];
    std::uint64_t shown[WARP];  // what was given when all were there
    unsigned int present[WARP]; // who took part
    const std::uint8_t* order;  // in which lanes are tried in this round ...
    int next;                   // ... and how far it is
    Context contexts[WARP];
};

// Where the fibre that runs is.
struct Here {
    Index thread, block, block_size, grid_size;
    Warp* warp;
    int lane;
};
inline Here here;

class Grid {
public:
    // Runs a kernel and returns nullptr, or what went wrong.
    const char* run(unsigned ctas, unsigned threads, std::size_t shared_bytes, std::uint64_t seed,
                    void (*kernel)(const void*), const void* call) {
        message_[0] = '\0';
        random_.state = seed;
        kernel_ = kernel;
        call_ = call;
        if (ctas == 0 || threads == 0 || threads % WARP || threads > 1024)
            return "a grid needs CTAs, and these whole warps of at most 1024 threads in all";
        draw_orders();
        set_up(ctas, threads, shared_bytes);
        burst_ = 1;
        here.warp = &warps_[0];
        here.lane = 0;
        here.block_size = {threads};
        here.grid_size = {ctas};
        main_.leave(choose());
        for (const Cta& cta : ctas_) give_back(cta, shared_bytes);
        return message_[0] ? message_ : nullptr;
    }

    // The calling lane waits until all of its mask are at the same operation.
    void exchange(unsigned mask, unsigned operation, std::uint64_t value) {
        Warp& warp = *here.warp;
        const int lane = here.lane;
        const unsigned self = 1u << lane;
        if (!(mask & self)) fail("%s calls for lanes %08x, and is none of them", who(), mask);
        warp.mask[lane] = mask;
        warp.operation[lane] = operation;
        warp.given[lane] = value;
        warp.meeting |= self;
        if (meet(warp, mask)) warp.ready &= ~self;
        else leave();
    }

    void synchronize_cta() {
        Warp& warp = *here.warp;
        const unsigned self = 1u << here.lane;
        warp.at_barrier |= self;
        ++warp.cta->at_barrier;
        if (open_barrier(*warp.cta)) warp.ready &= ~self;
        else leave();
    }

    [[noreturn]] void fail(const char* format, ...) {
        va_list values;
        va_start(values, format);
        std::vsnprintf(message_, sizeof message_, format, values);
        va_end(values);
        warp_context().leave(main_);
        std::abort();
    }

    const char* who() {
        std::snprintf(who_, sizeof who_, "CTA %u, thread %u (warp %u, lane %d)", here.block.x,
                      here.thread.x, here.thread.x / WARP, here.lane);
        return who_;
    }

private:
    static constexpr std::size_t STACK = 256 << 10;
    static constexpr std::size_t COLOUR = 17 * 64;  // else all stacks compete for the same cache sets
    static constexpr std::size_t GUARD = 4096;
    static constexpr std::byte GUARD_BYTE{0xa7};
    static constexpr int ORDERS = 64;

    void draw_orders() {
        for (auto& order : orders_) {
            for (int i = 0; i < WARP; ++i) order[i] = std::uint8_t(i);
            for (int i = WARP - 1; i > 0; --i) std::swap(order[i], order[random_.below(i + 1)]);
        }
    }

    void set_up(unsigned ctas, unsigned threads, std::size_t shared_bytes) {
        const std::size_t stride = STACK + COLOUR;
        if (stack_bytes_ < stride * ctas * threads) {
            stack_bytes_ = stride * ctas * threads;
            stacks_.reset(new std::byte[stack_bytes_]);
        }
        ctas_.resize(ctas);
        warps_.resize(ctas * threads / WARP);
        std::byte* stack = stacks_.get();
        Warp* warp = warps_.data();
        for (unsigned c = 0; c < ctas; ++c) {
            ctas_[c] = {c, threads, 0, garbage(shared_bytes)};
            for (unsigned first = 0; first < threads; first += WARP, ++warp) {
                warp->cta = &ctas_[c];
                warp->first_thread = first;
                warp->alive = warp->ready = ~0u;
                warp->meeting = warp->at_barrier = 0;
                warp->order = orders_[0];
                warp->next = WARP;
                for (Context& context : warp->contexts) {
                    context.prepare(stack, STACK, enter);
                    stack += stride;
                }
            }
        }
    }

    // Memory of exactly this size, which holds anything but zeros, and a guard behind it.
    std::byte* garbage(std::size_t bytes) {
        auto* memory = static_cast<std::byte*>(std::aligned_alloc(64, (bytes + GUARD + 63) & ~63ul));
        for (std::size_t i = 0; i < bytes; ++i) memory[i] = std::byte(random_() | 1);
        std::fill_n(memory + bytes, GUARD, GUARD_BYTE);
#if defined(__SANITIZE_ADDRESS__)
        __asan_poison_memory_region(memory + bytes, GUARD);
#endif
        return memory;
    }

    void give_back(const Cta& cta, std::size_t bytes) {
#if defined(__SANITIZE_ADDRESS__)
        __asan_unpoison_memory_region(cta.shared + bytes, GUARD);
#endif
        const auto whole = [](std::byte b) { return b == GUARD_BYTE; };
        if (!message_[0] && !std::all_of(cta.shared + bytes, cta.shared + bytes + GUARD, whole))
            std::snprintf(message_, sizeof message_,
                          "CTA %u wrote behind its %zu bytes of shared memory", cta.number, bytes);
        std::free(cta.shared);
    }

    static void enter();

    void live() {
        here.warp->contexts[here.lane].arrived();
        kernel_(call_);
        Warp& warp = *here.warp;
        warp.alive &= ~(1u << here.lane);
        --warp.cta->alive;
        for (int lane = 0; lane < WARP; ++lane)
            if (warp.meeting >> lane & 1) meet(warp, warp.mask[lane]);
        open_barrier(*warp.cta);
        leave();
    }

    // Lets the lanes of a mask go on if all that are alive are there.
    bool meet(Warp& warp, unsigned mask) {
        const unsigned present = mask & warp.alive;
        if ((warp.meeting & mask) != present || !present) return false;
        const int first = __builtin_ctz(present);
        for (unsigned rest = present; rest; rest &= rest - 1) {
            const int lane = __builtin_ctz(rest);
            if (warp.mask[lane] != mask || warp.operation[lane] != warp.operation[first])
                fail("CTA %u, warp %u: lane %d meets others at operation %u for lanes %08x, "
                     "lane %d at operation %u for lanes %08x",
                     warp.cta->number, warp.first_thread / WARP, first, warp.operation[first], mask,
                     lane, warp.operation[lane], warp.mask[lane]);
            warp.shown[lane] = warp.given[lane];
            warp.present[lane] = present;
        }
        warp.meeting &= ~present;
        warp.ready |= present;
        return true;
    }

    bool open_barrier(Cta& cta) {
        if (cta.at_barrier != cta.alive || !cta.alive) return false;
        for (Warp& warp : warps_) {
            if (warp.cta != &cta) continue;
            warp.ready |= warp.at_barrier;
            warp.at_barrier = 0;
        }
        cta.at_barrier = 0;
        return true;
    }

    Context& warp_context() { return here.warp->contexts[here.lane]; }

    void leave() {
        Context& from = warp_context();
        Context& to = choose();
        if (&from != &to) from.leave(to);
    }

    // Draws who goes on: within a warp for a while, then in another. main_ if all have returned.
    Context& choose() {
        for (;;) {
            Warp& warp = *here.warp;
            while (warp.next < WARP) {
                const int lane = warp.order[warp.next++];
                if (!(warp.ready >> lane & 1)) continue;
                warp.ready &= ~(1u << lane);
                here.lane = lane;
                here.thread = {warp.first_thread + lane};
                here.block = {warp.cta->number};
                return warp.contexts[lane];
            }
            warp.next = 0;
            warp.order = orders_[random_.below(ORDERS)];
            if (warp.ready && --burst_) continue;
            burst_ = 1 << random_.below(12);
            const std::size_t count = warps_.size(), start = random_.below(count);
            std::size_t k = 0;
            while (k < count && !warps_[(start + k) % count].ready) ++k;
            if (k < count) {
                here.warp = &warps_[(start + k) % count];
                continue;
            }
            explain_stop();
            return main_;
        }
    }

    // Nobody can go on: either all have returned, or those that are left wait for each other.
    void explain_stop() {
        for (const Warp& warp : warps_) {
            if (!warp.alive) continue;
            const unsigned lane = warp.meeting ? __builtin_ctz(warp.meeting) : 0;
            std::snprintf(message_, sizeof message_,
                          "CTA %u, warp %u would wait for ever: lanes %08x are at __syncthreads, "
                          "lanes %08x have returned, lanes %08x wait for others%s%08x",
                          warp.cta->number, warp.first_thread / WARP, warp.at_barrier, ~warp.alive,
                          warp.meeting, warp.meeting ? ", the first of them for lanes " : " ",
                          warp.meeting ? warp.mask[lane] : 0);
            return;
        }
    }

    Random random_{0};
    void (*kernel_)(const void*) = nullptr;
    const void* call_ = nullptr;
    std::vector<Cta> ctas_;
    std::vector<Warp> warps_;
    std::unique_ptr<std::byte[]> stacks_;
    std::size_t stack_bytes_ = 0;
    std::uint8_t orders_[ORDERS][WARP];
    int burst_ = 1;
    Context main_;
    char message_[400] = "";
    char who_[100] = "";
};

inline Grid grid;

inline void Grid::enter() { grid.live(); }

inline int lane() { return here.lane; }
inline void* shared_memory() { return here.warp->cta->shared; }
inline void synchronize_cta() { grid.synchronize_cta(); }
inline void exchange(unsigned mask, unsigned operation, std::uint64_t value) {
    grid.exchange(mask, operation, value);
}
// What lane `source` gave to the last meeting.
inline std::uint64_t shown(int source) {
    if (!(here.warp->present[here.lane] >> source & 1))
        grid.fail("%s asks lane %d, which does not take part", grid.who(), source);
    return here.warp->shown[source];
}

// Runs `call()` in every thread of a grid; returns nullptr, or what went wrong.
template <class Call>
const char* launch(unsigned ctas, unsigned threads, std::size_t shared_bytes, std::uint64_t seed,
                   const Call& call) {
    const auto kernel = [](const void* it) { (*static_cast<const Call*>(it))(); };
    return grid.run(ctas, threads, shared_bytes, seed, kernel, &call);
}

}  // namespace host
