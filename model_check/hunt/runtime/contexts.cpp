// contexts: see the header.
#include "contexts.hpp"

char apiary_hunt_writes_base = 0;

// Offsets are those of `context`; 158 is arch_prctl, 0x1002 its ARCH_SET_FS; 202 is futex, 128 its wait, 129 its wake,
// both private. Flags of the x87 unit can be loaded with its whole environment alone: only where they differ.
asm(R"(
    .text
    .macro keeps
        pushq %rbp
        pushq %rbx
        pushq %r12
        pushq %r13
        pushq %r14
        pushq %r15
        subq $8, %rsp
        stmxcsr (%rsp)
        fnstcw 4(%rsp)
        fnstsw 6(%rsp)
        movq %rsp, (%rdi)
    .endm
    .macro goes_on
        ldmxcsr (%rsp)
        fnstsw %ax
        xorb 6(%rsp), %al
        testb $0x3f, %al
        jz 9f
        subq $32, %rsp
        fnstenv (%rsp)
        movw 36(%rsp), %ax
        movw %ax, (%rsp)
        movb 38(%rsp), %al
        movb %al, 4(%rsp)
        fldenv (%rsp)
        addq $32, %rsp
    9:  fldcw 4(%rsp)
        addq $8, %rsp
        popq %r15
        popq %r14
        popq %r13
        popq %r12
        popq %rbx
        popq %rbp
        ret
    .endm

    .globl apiary_hunt_swaps
    .type apiary_hunt_swaps, @function
apiary_hunt_swaps:
    keeps
    movq (%rsi), %rsp
    movq 8(%rsi), %rsi
    cmpb $0, apiary_hunt_writes_base(%rip)
    je 1f
    wrfsbase %rsi
    goes_on
1:  movl $0x1002, %edi
    movl $158, %eax
    syscall
    goes_on
    .size apiary_hunt_swaps, . - apiary_hunt_swaps

    .globl apiary_hunt_parks
    .type apiary_hunt_parks, @function
apiary_hunt_parks:
    keeps
    movq %rdi, %rbx
    movq %rdx, %rbp
    movl $1, (%rsi)
    movq %rsi, %rdi
    movl $129, %esi
    movl $1, %edx
    movl $202, %eax
    syscall
2:  cmpl $0, (%rbp)
    jne 3f
    movq %rbp, %rdi
    movl $128, %esi
    xorl %edx, %edx
    xorl %r10d, %r10d
    movl $202, %eax
    syscall
    jmp 2b
3:  movq (%rbx), %rsp
    goes_on
    .size apiary_hunt_parks, . - apiary_hunt_parks
)");
