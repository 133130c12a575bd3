// An initiator that makes random accesses to a memory on a bus, by calls, by pointer and for debugging, while it
// allocates and frees blocks through a control port, and compares every byte with a plain memory.
#ifndef TLMALLOC_TESTS_QBOX_RANDOM_INITIATOR_HPP
#define TLMALLOC_TESTS_QBOX_RANDOM_INITIATOR_HPP

#include "tlmalloc/command/port_client.h"
#include "tlmalloc/modules/systemc.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <tlm_utils/simple_initiator_socket.h>
#include <utility>
#include <vector>

namespace qbox {

struct random_initiator : sc_core::sc_module {
    static constexpr unsigned accesses = 20'000;
    static constexpr std::uint64_t control = 0x1000'0000;

    struct block {
        std::uint64_t address, bytes;
    };
    struct counts {
        unsigned by_call = 0, by_pointer = 0, debug = 0, granted = 0, withdrawn = 0, allocated = 0, freed = 0;
        unsigned wrong = 0;     // reads that returned other bytes, or failed
        unsigned outside = 0;   // accesses over the end that were not denied
        unsigned stale = 0;     // pointers to a block that were kept after its FREE
        unsigned misplaced = 0; // pointers or blocks that reach outside the memory
    };

    tlm_utils::simple_initiator_socket<random_initiator> mem{"mem"}; // the name of a CPU's socket in QBox
    std::uint64_t base = 0x8000'0000, bytes = 0x400'0000;            // the memory
    bool blocks_are_relative = false;                                // ALLOC returns offsets into the memory
    counts counted;
    std::vector<std::pair<bool, block>> course; // blocks that were allocated (true) and freed, in order
    bool done = false;

    explicit random_initiator(const sc_core::sc_module_name &name) : sc_module(name) {
        TLMALLOC_HAS_PROCESS(random_initiator);
        mem.register_invalidate_direct_mem_ptr(this, &random_initiator::withdraw);
        SC_THREAD(run);
    }

  private:
    std::uint64_t below(std::uint64_t end) { return std::uniform_int_distribution<std::uint64_t>(0, end - 1)(random_); }

    void run() {
        // Accesses meet each other in 1 MiB at the begin of the memory, where first fit places blocks.
        plain_.resize(std::min<std::uint64_t>(bytes, 1 << 20));
        for (unsigned i = 0; i < accesses; i++) {
            if (below(32) == 0) change_blocks();
            access();
            if (below(500) == 0) over_the_end();
        }
        done = true;
    }

    // --- commands, by C code with plain loads and stores

    static std::uint32_t load(void *self, std::uint32_t offset) {
        std::uint32_t word = 0;
        static_cast<random_initiator *>(self)->call(tlm::TLM_READ_COMMAND, control + offset, &word, sizeof word);
        return word;
    }
    static void store(void *self, std::uint32_t offset, std::uint32_t word) {
        static_cast<random_initiator *>(self)->call(tlm::TLM_WRITE_COMMAND, control + offset, &word, sizeof word);
    }
    static void relax(void *) { sc_core::wait(10, sc_core::SC_NS); }

    void change_blocks() {
        if (blocks_.size() < 8 && below(3) != 0) {
            block made{0, 1 + below(100'000)};
            tla_paddr pa{};
            if (tla_port_client_alloc(&client_, TLA_HBM, made.bytes, &pa, nullptr) != TLA_OK) return;
            made.address = pa.value + (blocks_are_relative ? base : 0);
            counted.misplaced += made.address < base || made.address - base > bytes - made.bytes;
            counted.allocated++;
            blocks_.push_back(made);
            course.emplace_back(true, made);
        } else if (!blocks_.empty()) {
            const std::size_t which = below(blocks_.size());
            const block old = blocks_[which];
            blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(which));
            counted.wrong += tla_port_client_free(&client_, {old.address - (blocks_are_relative ? base : 0)}, old.bytes,
                                                  nullptr) != TLA_OK;
            counted.freed++;
            course.emplace_back(false, old);
            for (const tlm::tlm_dmi &held : pointers_)
                counted.stale +=
                    held.get_start_address() < old.address + old.bytes && held.get_end_address() >= old.address;
        }
    }

    // --- accesses

    void access() {
        const std::uint64_t length = 1 + below(below(8) == 0 ? 4096 : 64), offset = below(plain_.size() - length + 1);
        const bool write = below(2) == 0;
        std::vector<std::uint8_t> data(length);
        std::generate(data.begin(), data.end(), [this] { return static_cast<std::uint8_t>(random_()); });
        const std::vector<std::uint8_t> before(plain_.begin() + static_cast<std::ptrdiff_t>(offset),
                                               plain_.begin() + static_cast<std::ptrdiff_t>(offset + length));
        if (write) std::copy(data.begin(), data.end(), plain_.begin() + static_cast<std::ptrdiff_t>(offset));
        counted.wrong += !make(write, base + offset, data) || (!write && data != before);
    }

    // Reads or writes in one of the ways; returns whether the access succeeded.
    bool make(bool write, std::uint64_t address, std::vector<std::uint8_t> &data) {
        const tlm::tlm_command command = write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND;
        const std::uint64_t way = below(8);
        if (way == 0) {
            counted.debug++;
            tlm::tlm_generic_payload payload;
            fill(payload, command, address, data.data(), data.size());
            return mem->transport_dbg(payload) == data.size();
        }
        for (const tlm::tlm_dmi &held : pointers_) {
            if (way < 4 || held.get_start_address() > address || held.get_end_address() < address + data.size() - 1)
                continue;
            unsigned char *const at = held.get_dmi_ptr() + (address - held.get_start_address());
            std::memcpy(write ? at : data.data(), write ? data.data() : at, data.size());
            counted.by_pointer++;
            return true;
        }
        counted.by_call++;
        return call(command, address, data.data(), data.size());
    }

    bool call(tlm::tlm_command command, std::uint64_t address, void *data, std::size_t length) {
        tlm::tlm_generic_payload payload;
        sc_core::sc_time delay;
        fill(payload, command, address, data, length);
        mem->b_transport(payload, delay);
        sc_core::wait(delay);
        if (payload.is_dmi_allowed() && below(4) == 0) request_pointer(command, address);
        return payload.is_response_ok();
    }

    void over_the_end() {
        std::uint64_t word = 0;
        counted.outside += call(tlm::TLM_READ_COMMAND, base + bytes - below(sizeof word), &word, sizeof word);
    }

    static void fill(tlm::tlm_generic_payload &payload, tlm::tlm_command command, std::uint64_t address, void *data,
                     std::size_t length) {
        payload.set_command(command);
        payload.set_address(address);
        payload.set_data_ptr(static_cast<unsigned char *>(data));
        payload.set_data_length(static_cast<unsigned>(length));
        payload.set_streaming_width(static_cast<unsigned>(length));
    }

    // --- pointers

    void request_pointer(tlm::tlm_command command, std::uint64_t address) {
        tlm::tlm_generic_payload payload;
        tlm::tlm_dmi dmi;
        fill(payload, command, address, nullptr, 0);
        if (!mem->get_direct_mem_ptr(payload, dmi) || !dmi.is_read_write_allowed()) return;
        counted.granted++;
        counted.misplaced += dmi.get_start_address() < base || dmi.get_end_address() > base + bytes - 1;
        pointers_.push_back(dmi);
    }
    void withdraw(sc_dt::uint64 first, sc_dt::uint64 last) {
        const auto kept = std::remove_if(pointers_.begin(), pointers_.end(), [&](const tlm::tlm_dmi &held) {
            return held.get_start_address() <= last && held.get_end_address() >= first;
        });
        counted.withdrawn += static_cast<unsigned>(pointers_.end() - kept);
        pointers_.erase(kept, pointers_.end());
    }

    std::mt19937_64 random_{42};
    std::vector<std::uint8_t> plain_;
    std::vector<block> blocks_;
    std::vector<tlm::tlm_dmi> pointers_;
    tla_port_client client_{nullptr, 0, relax, this, 0, 0, load, store};
};

} // namespace qbox
#endif
