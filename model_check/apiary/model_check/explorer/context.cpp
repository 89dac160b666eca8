// context: the switch itself. System V ABI: rbx, rbp, r12-r15 and the control words belong to the callee.
#include <apiary/model_check/explorer/context.hpp>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace apiary::model::explorer {

#if defined(__x86_64__)

extern "C" void apiary_switch_context(void** save, void* resume);
extern "C" void apiary_start_context();

__asm__(
    ".text\n"
    ".globl apiary_switch_context\n"
    ".type apiary_switch_context,@function\n"
    "apiary_switch_context:\n"
    "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
    "  subq $8, %rsp\n  stmxcsr (%rsp)\n  fnstcw 4(%rsp)\n"
    "  movq %rsp, (%rdi)\n"
    "  movq %rsi, %rsp\n"
    "  ldmxcsr (%rsp)\n  fldcw 4(%rsp)\n  addq $8, %rsp\n"
    "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n"
    "  ret\n"
    ".size apiary_switch_context,.-apiary_switch_context\n"
    // First resumption: r12 is the entry, r13 its argument. A zero return address ends unwinding.
    ".globl apiary_start_context\n"
    ".type apiary_start_context,@function\n"
    "apiary_start_context:\n"
    "  .cfi_startproc\n  .cfi_undefined rip\n"
    "  movq %r13, %rdi\n"
    "  call *%r12\n"
    "  ud2\n"
    "  .cfi_endproc\n"
    ".size apiary_start_context,.-apiary_start_context\n");

context make_context(char* stack, std::size_t bytes, void (*entry)(void*), void* argument) {
    auto* top = reinterpret_cast<std::uint64_t*>(reinterpret_cast<std::uintptr_t>(stack + bytes) & ~std::uintptr_t{15});
    *--top = 0;
    *--top = 0;  // keeps the stack aligned at the call
    *--top = reinterpret_cast<std::uint64_t>(&apiary_start_context);
    *--top = 0;                                          // rbp
    *--top = 0;                                          // rbx
    *--top = reinterpret_cast<std::uint64_t>(entry);     // r12
    *--top = reinterpret_cast<std::uint64_t>(argument);  // r13
    *--top = 0;                                          // r14
    *--top = 0;                                          // r15
    *--top = std::uint64_t{0x037F} << 32 | 0x1F80;       // x87 and SSE control words, as a program starts
    return top;
}

void switch_context(context* save, context resume) { apiary_switch_context(save, resume); }

#else

namespace {
struct portable {
    ucontext_t u;
    void (*entry)(void*);
    void* argument;
};
void start(unsigned high, unsigned low) {
    auto* p = reinterpret_cast<portable*>(static_cast<std::uintptr_t>(high) << 32 | low);
    p->entry(p->argument);
}
}  // namespace

context make_context(char* stack, std::size_t bytes, void (*entry)(void*), void* argument) {
    // The record lives at the bottom of the fiber's own stack.
    auto* p = reinterpret_cast<portable*>(stack);
    p->entry = entry;
    p->argument = argument;
    ::getcontext(&p->u);
    p->u.uc_stack.ss_sp = stack + sizeof(portable);
    p->u.uc_stack.ss_size = bytes - sizeof(portable);
    p->u.uc_link = nullptr;
    const auto address = reinterpret_cast<std::uintptr_t>(p);
    ::makecontext(&p->u, reinterpret_cast<void (*)()>(&start), 2, static_cast<unsigned>(address >> 32),
                  static_cast<unsigned>(address));
    return p;
}

void switch_context(context* save, context resume) {
    portable here;
    *save = &here;
    ::swapcontext(&here.u, &static_cast<portable*>(resume)->u);
}

#endif

}  // namespace apiary::model::explorer
