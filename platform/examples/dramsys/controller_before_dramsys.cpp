// Two memory controllers of tlmalloc: one in front of a DRAMSys, through an lt_at_bridge, one in front of tlmalloc's
// own slice. The same commands and accesses go to both; the bytes must be the same, and the times stand in a table.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include <DRAMSys/config/DRAMSysConfiguration.h>
#include <DRAMSys/simulation/DRAMSys.h>
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <iomanip>
#include <iostream>
#include <random>
#include <string>
#include <tlmalloc/config.h>
#include <tlmalloc/modules.hpp>
#include <vector>

namespace {

constexpr std::uint64_t memory_bytes = std::uint64_t{1} << 28, base = 0x8000'0000, block_bytes = std::uint64_t{1} << 26;
constexpr unsigned accesses = 20'000;

// The requests of a memory. A burst of HBM2 is 4 beats of 64 bits, with masked writes; a burst of DDR4 8 beats, and
// without byte enables where its controller corrects errors, or its devices are 4 bits wide.
struct memory_kind {
    unsigned burst;
    bool byte_enables;
    bool is_slice; // the same memory as the slice
};

memory_kind kind_of(const DRAMSys::Config::Configuration &config) {
    if (config.memspec.memoryType == DRAMSys::Config::MemoryType::DDR4) return {64, false, false};
    return {32, true, true};
}

tlmalloc::memory_controller::config controller_config() {
    tlmalloc::memory_controller::config config;
    config.memory.of[TLA_HBM].bytes = memory_bytes;
    config.memory.of[TLA_TCM].bytes = config.memory.of[TLA_TCM].reserved = 0;
    config.memory.layout = TLA_LAYOUT_PLAIN;
    config.memory.of[TLA_HBM].base = base;
    return config;
}

// The requests that DRAMSys accepts: naturally aligned powers of two, and no byte enables in requests of more than a
// burst, which lose them. A shorter access becomes a burst: with byte enables, or by reading it first. The bridge
// rejects addresses past its end, which DRAMSys does not check.
tlmalloc::lt_at_bridge::config bridge_config(const memory_kind &of) {
    tlmalloc::lt_at_bridge::config config;
    config.capacity = memory_bytes;
    config.smallest = of.burst;
    config.largest = of.burst;
    config.byte_enables = of.byte_enables;
    config.outstanding = 32;
    config.ending = tlmalloc::lt_at_bridge::response_end::updated; // after TLM_COMPLETED it would wait forever
    return config;
}

// The same pseudo-channel as hbm2.json.
tlmalloc::hbm_slice::config slice_config() {
    tlmalloc::hbm_slice::config config;
    config.capacity = memory_bytes;
    config.pseudo_channels = 1;
    config.latency_ps = 0;
    tla_timing_named("hbm2", &config.timing.emplace());
    return config;
}

// Allocates a block, and makes a list of accesses with several threads, so that several are in flight.
struct tester : sc_core::sc_module {
    struct access {
        std::uint64_t offset; // in the block
        bool write;
        std::vector<std::uint8_t> data, enables;
        std::vector<std::uint8_t> expected; // of a read
    };

    tlm_utils::simple_initiator_socket<tester> data{"data"}, control{"control"};
    std::uint64_t block = 0, wrong = 0, checksum = 0;

    explicit tester(sc_core::sc_module_name name) : sc_module(name) {}

    tla_status command(tla_opcode opcode) {
        tla_command what{};
        tla_completion done{};
        sc_core::sc_time delay;
        what.opcode = opcode;
        what.target = TLA_TARGET_MEMORY_CONTROLLER;
        what.memory = TLA_HBM;
        what.nbytes = block_bytes;
        what.pa.value = block;
        const tla_status status = tlmalloc::send_command(control, 0, what, done, delay);
        sc_core::wait(delay);
        if (opcode == TLA_OP_ALLOC) block = done.value;
        return status;
    }

    void make(access &a) {
        tlm::tlm_generic_payload payload;
        payload.set_command(a.write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
        payload.set_address(block + a.offset);
        payload.set_data_ptr(a.data.data());
        payload.set_data_length(static_cast<unsigned>(a.data.size()));
        payload.set_streaming_width(static_cast<unsigned>(a.data.size()));
        payload.set_byte_enable_ptr(a.enables.empty() ? nullptr : a.enables.data());
        payload.set_byte_enable_length(static_cast<unsigned>(a.enables.size()));
        sc_core::sc_time delay;
        data->b_transport(payload, delay);
        sc_core::wait(delay);
        wrong += !payload.is_response_ok() || (!a.write && a.data != a.expected);
        std::uint64_t hash = a.offset;
        for (const std::uint8_t byte : a.data)
            hash = (hash ^ byte) * 0x100000001b3u; // FNV-1a
        checksum += hash;                          // whatever the order
    }

    // How long all of them take, `together` at a time.
    sc_core::sc_time make_all(std::vector<access> all, unsigned together) {
        const sc_core::sc_time start = sc_core::sc_time_stamp();
        std::size_t next = 0;
        unsigned running = together;
        sc_core::sc_event over;
        for (unsigned i = 0; i < together; i++)
            sc_core::sc_spawn([&] {
                while (next < all.size())
                    make(all[next++]);
                if (--running == 0) over.notify(sc_core::SC_ZERO_TIME);
            });
        sc_core::wait(over);
        return sc_core::sc_time_stamp() - start;
    }
};

// The bytes that an access of a pattern writes, and that its read must find.
std::vector<std::uint8_t> bytes_of(std::uint64_t offset, unsigned burst, unsigned round) {
    std::mt19937_64 random(offset * 8 + round);
    std::vector<std::uint8_t> bytes(burst);
    for (std::uint8_t &byte : bytes)
        byte = static_cast<std::uint8_t>(random());
    return bytes;
}

// One burst each, one after the other or scattered over the block.
std::vector<tester::access> bursts(unsigned burst, bool scattered, bool write, unsigned round) {
    std::vector<tester::access> all;
    for (std::uint64_t i = 0; i < accesses; i++) {
        const std::uint64_t at = scattered ? i * 0x9e3779b1u % (block_bytes / burst) : i; // odd: none twice
        const std::vector<std::uint8_t> bytes = bytes_of(at * burst, burst, round);
        all.push_back({at * burst, write, write ? bytes : std::vector<std::uint8_t>(burst), {}, bytes});
    }
    return all;
}

// Any sizes and alignments, 512 bytes and 4 KiB among them, with byte enables; one after the other.
std::vector<tester::access> anything() {
    std::mt19937_64 random(1);
    std::vector<std::uint8_t> memory(1 << 16);
    std::vector<tester::access> all;
    all.push_back({0, true, memory, {}, {}});
    while (all.size() <= accesses) {
        const std::uint64_t kind = random() % 16, length = kind == 0 ? 4096 : kind == 1 ? 512 : 1 + random() % 100;
        tester::access a{random() % (memory.size() - length), random() % 2 == 0, {}, {}, {}};
        for (std::uint64_t i = 0; i < length; i++)
            a.data.push_back(static_cast<std::uint8_t>(random()));
        if (random() % 4 == 0)
            for (std::uint64_t i = 0, n = 1 + random() % 9; i < n; i++)
                a.enables.push_back(random() % 2 ? TLM_BYTE_ENABLED : TLM_BYTE_DISABLED);
        a.expected = a.data;
        for (std::uint64_t i = 0; i < length; i++) {
            if (!a.enables.empty() && a.enables[i % a.enables.size()] == TLM_BYTE_DISABLED) continue;
            std::uint8_t &byte = memory[a.offset + i];
            (a.write ? byte : a.expected[i]) = a.write ? a.data[i] : byte;
        }
        all.push_back(a);
    }
    return all;
}

// Accesses past the end: the controller's memory is as large as the bridge's range, so they never arrive there.
bool refuses_the_end(tester &from) {
    std::uint8_t byte = 0;
    sc_core::sc_time delay;
    return !tlmalloc::access(from.data, tlm::TLM_READ_COMMAND, base + memory_bytes, &byte, 1, delay);
}

struct comparison : sc_core::sc_module {
    tester with_dramsys{"with_dramsys"}, with_slice{"with_slice"};
    bool good = true;

    comparison(sc_core::sc_module_name name, const memory_kind &of) : sc_module(name), of_(of) {
        TLMALLOC_HAS_PROCESS(comparison);
        SC_THREAD(run);
    }

    void expect(bool holds, const char *what) {
        if (!holds) std::cout << "WRONG: " << what << '\n';
        good = good && holds;
    }

    void row(const char *what, const std::vector<tester::access> &all, unsigned together) {
        const double dramsys = with_dramsys.make_all(all, together).to_seconds() * 1e9,
                     slice = with_slice.make_all(all, together).to_seconds() * 1e9, n = static_cast<double>(all.size());
        std::uint64_t bytes = 0;
        for (const tester::access &a : all)
            bytes += a.data.size();
        const auto rate = [&](double ns) { return static_cast<double>(bytes) / ns; };
        std::cout << std::fixed << "| " << what << " | " << together << " | " << std::setprecision(1) << dramsys / n;
        if (of_.is_slice) std::cout << " | " << slice / n;
        std::cout << " | " << std::setprecision(2) << rate(dramsys);
        if (of_.is_slice)
            std::cout << " | " << rate(slice) << " | " << std::showpos << std::setprecision(1)
                      << 100 * (slice - dramsys) / dramsys << std::noshowpos << " %";
        std::cout << " |\n";
        expect(with_dramsys.wrong == 0 && with_slice.wrong == 0, "a byte is not what was written");
        expect(with_dramsys.checksum == with_slice.checksum, "not the same bytes");
    }

    void run() {
        std::cout << (of_.is_slice ? "| accesses | together | DRAMSys, ns each | slice, ns each | DRAMSys, GB/s | "
                                     "slice, GB/s | slice's time |\n|---|---|---|---|---|---|---|\n"
                                   : "| accesses | together | DRAMSys, ns each | DRAMSys, GB/s |\n|---|---|---|---|\n");
        for (tester *one : {&with_dramsys, &with_slice})
            expect(one->command(TLA_OP_ALLOC) == TLA_OK && one->block == base, "ALLOC");
        unsigned round = 0;
        for (const unsigned together : {1u, 32u})
            for (const bool scattered : {false, true}) {
                round++;
                for (const bool write : {true, false}) {
                    const std::string what =
                        std::string(scattered ? "random" : "stream") + (write ? " write" : " read");
                    row(what.c_str(), bursts(of_.burst, scattered, write, round), together);
                }
            }
        row("any size", anything(), 1);
        for (tester *one : {&with_dramsys, &with_slice}) {
            expect(refuses_the_end(*one), "an access past the end");
            expect(one->command(TLA_OP_FREE) == TLA_OK, "FREE");
            expect(one->command(TLA_OP_FREE) == TLA_NOT_ALLOCATED, "a second FREE");
        }
        std::cout << (good ? "the same bytes, nothing refused that should not be\n" : "WRONG\n");
        sc_core::sc_stop();
    }

  private:
    const memory_kind of_;
};

} // namespace

int sc_main(int argc, char **argv) {
    if (argc != 2) {
        std::cerr << "usage: controller_before_dramsys MEMORY.JSON\n";
        return 2;
    }
    const auto config = DRAMSys::Config::from_path(argv[1]);
    const memory_kind of = kind_of(config);
    DRAMSys::DRAMSys dramsys("dramsys", config);
    tlmalloc::lt_at_bridge bridge("bridge", bridge_config(of));
    tlmalloc::memory_controller controller("controller", controller_config()), other("other", controller_config());
    tlmalloc::hbm_slice slice("slice", slice_config());
    comparison both("comparison", of);

    both.with_dramsys.control.bind(controller.control);
    both.with_dramsys.data.bind(controller.in);
    controller.slice.bind(bridge.in);
    bridge.out.bind(dramsys.tSocket);

    both.with_slice.control.bind(other.control);
    both.with_slice.data.bind(other.in);
    other.slice.bind(slice.in);

    sc_core::sc_start();
    bridge.print_statistics(std::cout);
    return both.good ? 0 : 1;
}
