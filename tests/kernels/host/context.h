// A stack of its own for each fibre, and the way from one to another.

#pragma once

#include <cstddef>
#include <cstdint>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#if defined(__x86_64__)
// void swdual_switch(void** from, void* to): keeps the registers that a callee must keep on the
// stack it leaves, and takes those of the other.
asm(R"(
    .text
    .p2align 4
    .globl swdual_switch
    .hidden swdual_switch
    .type swdual_switch, @function
swdual_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size swdual_switch, . - swdual_switch
)");
extern "C" void swdual_switch(void** from, void* to) __attribute__((visibility("hidden")));
#endif

namespace host {

class Context {
public:
    // Will run `entry`, which must not return, from the beginning.
    void prepare(std::byte* stack, std::size_t size, void (*entry)()) {
        bottom_ = stack;
        size_ = size;
#if defined(__SANITIZE_ADDRESS__)
        __asan_unpoison_memory_region(stack, size);
        fake_ = nullptr;
#endif
#if defined(__x86_64__)
        // From the top: a word, so that `entry` finds the stack as after a call; the address to
        // return to; six registers.
        void** top = reinterpret_cast<void**>(reinterpret_cast<std::uintptr_t>(stack + size) & ~15);
        *--top = nullptr;
        *--top = reinterpret_cast<void*>(entry);
        for (int i = 0; i < 6; ++i) *--top = nullptr;
        top_ = top;
#else
        getcontext(&context_);
        context_.uc_stack.ss_sp = stack;
        context_.uc_stack.ss_size = size;
        context_.uc_link = nullptr;
        makecontext(&context_, entry, 0);
#endif
    }

    // Leaves this for `to`, and returns when something comes back here.
    void leave(Context& to) {
#if defined(__SANITIZE_ADDRESS__)
        last_ = this;
        __sanitizer_start_switch_fiber(&fake_, to.bottom_, to.size_);
#endif
#if defined(__x86_64__)
        swdual_switch(&top_, to.top_);
#else
        swapcontext(&context_, &to.context_);
#endif
        arrived();
    }

    // To be called first by an entry: tells the sanitizer which stack was left.
    void arrived() {
#if defined(__SANITIZE_ADDRESS__)
        const void* bottom;
        std::size_t size;
        __sanitizer_finish_switch_fiber(fake_, &bottom, &size);
        last_->bottom_ = bottom;
        last_->size_ = size;
#endif
    }

private:
    const void* bottom_ = nullptr;
    std::size_t size_ = 0;
#if defined(__x86_64__)
    void* top_ = nullptr;
#else
    ucontext_t context_;
#endif
#if defined(__SANITIZE_ADDRESS__)
    void* fake_ = nullptr;
    static inline Context* last_ = nullptr;
#endif
};

}  // namespace host
