// Random programs of RV64IMC that end: every jump and branch leads forward, to an instruction or to the WFI at the end.
#ifndef TLMALLOC_TESTS_RISCV_RANDOM_PROGRAM_HPP
#define TLMALLOC_TESTS_RISCV_RANDOM_PROGRAM_HPP

#include "unit/seeded_random.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

class random_program {
  public:
    // Registers that hold addresses of data, at least 2 KiB from its ends, and stay as they are: sp and s0. s1 holds
    // the address of jumps.
    enum { sp = 2, s0 = 8, s1 = 9 };

    random_program(seeded_random &random, unsigned instructions) : random_(random) {
        while (items_.size() < instructions)
            add();
        items_.push_back({0x10500073, 4, none, 0, false});
        place();
    }

    const std::vector<std::uint16_t> &halves() const { return halves_; }

  private:
    enum what { none, transfer, branch, jump, jump_by_register, half_branch, half_jump, half_jump_by_register };
    struct pattern {
        std::uint32_t match, mask; // bits that are given, and which
        what kind;
    };
    struct item {
        std::uint32_t bits;
        unsigned length;
        what kind;
        std::size_t skip;   // of a jump: how many instructions it passes
        bool needs_address; // in s1, from the instructions before it: nobody jumps here
    };

    // The instructions of 32 bits, as the ISA manual's listing gives their opcode, funct3 and funct7.
    static const std::vector<pattern> &patterns() {
        static const std::vector<pattern> all = [] {
            std::vector<pattern> list{{0x37, 0x7f, none},
                                      {0x17, 0x7f, none},
                                      {0x6f, 0x7f, jump},
                                      {0x67, 0x707f, jump_by_register},
                                      {0x0000000f, 0x707f, none}};
            for (const std::uint32_t f : {0u, 1u, 4u, 5u, 6u, 7u})
                list.push_back({f << 12 | 0x63, 0x707f, branch});
            for (const std::uint32_t f : {0u, 1u, 2u, 3u, 4u, 5u, 6u})
                list.push_back({f << 12 | 0x03, 0x707f, transfer});
            for (const std::uint32_t f : {0u, 1u, 2u, 3u})
                list.push_back({f << 12 | 0x23, 0x707f, transfer});
            for (const std::uint32_t f : {0u, 2u, 3u, 4u, 6u, 7u})
                list.push_back({f << 12 | 0x13, 0x707f, none});
            for (const std::uint32_t shift : {0x00001013u, 0x00005013u, 0x40005013u})
                list.push_back({shift, 0xfc00707f, none});
            list.push_back({0x1b, 0x707f, none});
            for (const std::uint32_t shift : {0x0000101bu, 0x0000501bu, 0x4000501bu})
                list.push_back({shift, 0xfe00707f, none});
            for (const std::uint32_t f : {0u, 1u, 2u, 3u, 4u, 5u, 6u, 7u}) {
                list.push_back({f << 12 | 0x33, 0xfe00707f, none});
                list.push_back({1u << 25 | f << 12 | 0x33, 0xfe00707f, none});
            }
            for (const std::uint32_t f : {0u, 5u}) {
                list.push_back({1u << 30 | f << 12 | 0x33, 0xfe00707f, none});
                list.push_back({1u << 30 | f << 12 | 0x3b, 0xfe00707f, none});
            }
            for (const std::uint32_t f : {0u, 1u, 5u})
                list.push_back({f << 12 | 0x3b, 0xfe00707f, none});
            for (const std::uint32_t f : {0u, 4u, 5u, 6u, 7u})
                list.push_back({1u << 25 | f << 12 | 0x3b, 0xfe00707f, none});
            return list;
        }();
        return all;
    }

    // Those of 16 bits; of loads and stores by a register of eight, that register is s0.
    static const std::vector<pattern> &half_patterns() {
        static const std::vector<pattern> all{{0x0000, 0xe003, none},
                                              {0x4000, 0xe383, none},
                                              {0x6000, 0xe383, none},
                                              {0xc000, 0xe383, none},
                                              {0xe000, 0xe383, none},
                                              {0x0001, 0xe003, none},
                                              {0x2001, 0xe003, none},
                                              {0x4001, 0xe003, none},
                                              {0x6001, 0xe003, none},
                                              {0x8001, 0xec03, none},
                                              {0x8401, 0xec03, none},
                                              {0x8801, 0xec03, none},
                                              {0x8c01, 0xfc63, none},
                                              {0x8c21, 0xfc63, none},
                                              {0x8c41, 0xfc63, none},
                                              {0x8c61, 0xfc63, none},
                                              {0x9c01, 0xfc63, none},
                                              {0x9c21, 0xfc63, none},
                                              {0xa001, 0xe003, half_jump},
                                              {0xc001, 0xe003, half_branch},
                                              {0xe001, 0xe003, half_branch},
                                              {0x0002, 0xe003, none},
                                              {0x4002, 0xe003, none},
                                              {0x6002, 0xe003, none},
                                              {0x8002, 0xf003, none},
                                              {0x9002, 0xf003, none},
                                              {0xc002, 0xe003, none},
                                              {0xe002, 0xe003, none},
                                              {0x8482, 0xffff, half_jump_by_register},
                                              {0x9482, 0xffff, half_jump_by_register}};
        return all;
    }

    static bool is_address(std::uint32_t r) { return r == sp || r == s0 || r == s1; }

    static std::uint32_t with(std::uint32_t bits, unsigned at, std::uint32_t mask, std::uint64_t value) {
        return (bits & ~(mask << at)) | (static_cast<std::uint32_t>(value) & mask) << at;
    }

    std::uint32_t bits_of(const pattern &p) {
        return (static_cast<std::uint32_t>(random_.between(0, UINT32_MAX)) & ~p.mask) | p.match;
    }

    // Registers more often the same few, so that results are operands again.
    std::uint32_t some_register(bool written) {
        for (;;) {
            const auto r =
                static_cast<std::uint32_t>(random_.one_in(3) ? random_.between(0, 31) : random_.between(10, 15));
            if (!written || !is_address(r)) return r;
        }
    }

    void add() {
        const std::size_t skip = random_.between(0, 6);
        if (random_.one_in(2)) {
            const pattern &p = patterns()[random_.between(0, patterns().size() - 1)];
            std::uint32_t bits = bits_of(p);
            const bool writes = (bits & 0x7f) != 0x63 && (bits & 0x7f) != 0x23;
            if (writes) bits = with(bits, 7, 31, some_register(true));
            bits = (bits & 0x7f) == 0x37 || (bits & 0x7f) == 0x17 || p.kind == jump
                       ? bits
                       : with(bits, 15, 31, some_register(false));
            if (p.kind == transfer) bits = with(bits, 15, 31, s0);
            if (p.kind == jump_by_register) {
                items_.push_back({0x00000017 | s1 << 7, 4, none, 0, false}); // AUIPC s1, 0
                bits = with(bits, 15, 31, s1);
            }
            items_.push_back({bits, 4, p.kind, skip, p.kind == jump_by_register});
            return;
        }
        const pattern &p = half_patterns()[random_.between(0, half_patterns().size() - 1)];
        const std::uint32_t bits = bits_of(p) & 0xffff;
        if (p.kind != half_jump_by_register && !is_allowed(bits)) return;
        if (p.kind == half_jump_by_register) {
            items_.push_back({0x00000017 | s1 << 7, 4, none, 0, false});
            items_.push_back({0x0485, 2, jump_by_register, skip / 2, true}); // C.ADDI s1: the distance
        }
        items_.push_back({bits, 2, p.kind, skip, p.kind == half_jump_by_register});
    }

    // Not what is reserved or a hint, and not what writes a register with an address.
    static bool is_allowed(std::uint32_t h) {
        const std::uint32_t r = h >> 7 & 31, eight = 8 + (h >> 7 & 7), low_eight = 8 + (h >> 2 & 7), funct = h >> 13;
        const bool nothing = (h & 0x107c) == 0;
        switch (h & 3) {
        case 0:
            return funct >= 6 || (!is_address(low_eight) && (funct != 0 || (h & 0x1fe0) != 0));
        case 1:
            if (funct >= 5) return true;
            return funct == 4 ? !is_address(eight) : r != 0 && !is_address(r) && !nothing;
        default:
            if (funct >= 6) return true;
            return r != 0 && !is_address(r) && !nothing && (funct != 4 || (h & 0x7c) != 0);
        }
    }

    // Lays the instructions out and fills in how far jumps go.
    void place() {
        std::vector<std::uint32_t> at{0};
        for (const item &i : items_)
            at.push_back(at.back() + i.length);
        for (std::size_t n = 0; n < items_.size(); n++) {
            const item &i = items_[n];
            // Behind the jump itself too, where the address is taken an instruction before.
            std::size_t to = std::min(n + 2 + i.skip, items_.size() - 1);
            while (items_[to].needs_address)
                to++;
            const std::uint32_t target = at[to];
            const std::uint32_t bits = filled(i, i.kind == none ? 0 : target - at[n], at[n] - (n ? at[n - 1] : 0));
            halves_.push_back(static_cast<std::uint16_t>(bits));
            if (i.length == 4) halves_.push_back(static_cast<std::uint16_t>(bits >> 16));
        }
    }

    static std::uint32_t filled(const item &i, std::uint32_t distance, std::uint32_t since_address) {
        const auto bit = [distance](unsigned from, unsigned count) { return distance >> from & ((1u << count) - 1); };
        switch (i.kind) {
        case branch:
            return (i.bits & 0x01fff07f) | bit(5, 6) << 25 | bit(1, 4) << 8;
        case jump:
            return (i.bits & 0xfff) | bit(1, 10) << 21;
        case jump_by_register:
            if (i.length == 2) return (i.bits & ~0x107cu) | (distance + since_address) << 2;
            return (i.bits & 0xfffff) | (distance + since_address) << 20;
        case half_branch:
            return (i.bits & 0xe383) | bit(3, 2) << 10 | bit(1, 2) << 3 | bit(5, 1) << 2;
        case half_jump:
            return (i.bits & 0xe003) | bit(4, 1) << 11 | bit(6, 1) << 7 | bit(1, 3) << 3 | bit(5, 1) << 2;
        default:
            return i.bits;
        }
    }

    seeded_random &random_;
    std::vector<item> items_;
    std::vector<std::uint16_t> halves_;
};

#endif
