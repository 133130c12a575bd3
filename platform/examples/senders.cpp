// The top-level around a test bench in C (senders.h).
#include "senders.h"

#include "bench_main.hpp"
#include "tlmalloc/modules.hpp"

#include <deque>
#include <iostream>

using tlmalloc::from_ps;
using tlmalloc::local_ps;

namespace {

tlmalloc::waveform *recorded = nullptr;
std::vector<tla_wave_signal> signals;

// A thread with a port: what its driver loads and stores are transactions of a word.
struct thread_with_port : sc_core::sc_module {
    tlm_utils::simple_initiator_socket<thread_with_port> control{"control"};
    sender me{};
    tlmalloc::requester who;

    thread_with_port(sc_core::sc_module_name name, unsigned number) : sc_module(name), who(number + 1, number) {
        me.number = number;
        me.driver.context = this;
        me.driver.relax = [](void *) { wait_us(1); };
        me.driver.read = [](void *context, std::uint32_t offset) {
            return static_cast<thread_with_port *>(context)->access(tlm::TLM_READ_COMMAND, offset, 0);
        };
        me.driver.write = [](void *context, std::uint32_t offset, std::uint32_t word) {
            static_cast<thread_with_port *>(context)->access(tlm::TLM_WRITE_COMMAND, offset, word);
        };
        TLMALLOC_HAS_PROCESS(thread_with_port);
        SC_THREAD(run);
    }
    void run() { the_bench.run(&me); }

    std::uint32_t access(tlm::tlm_command command, std::uint32_t offset, std::uint32_t word) {
        std::uint8_t bytes[4];
        for (unsigned i = 0; i < 4; i++)
            bytes[i] = static_cast<std::uint8_t>(word >> 8 * i);
        tlm::tlm_generic_payload payload;
        payload.set_command(command);
        payload.set_address(std::uint64_t{me.number} * TLA_PORT_BYTES + offset);
        payload.set_data_ptr(bytes);
        payload.set_data_length(4);
        payload.set_streaming_width(4);
        payload.set_extension(&who);
        sc_core::sc_time delay;
        control->b_transport(payload, delay);
        payload.clear_extension(&who);
        sc_core::wait(delay);
        return bytes[0] | std::uint32_t{bytes[1]} << 8 | std::uint32_t{bytes[2]} << 16 | std::uint32_t{bytes[3]} << 24;
    }
};

// Bound, not used.
struct no_data : sc_core::sc_module {
    tlm_utils::simple_initiator_socket<no_data> out{"out"};
    explicit no_data(sc_core::sc_module_name name) : sc_module(name) {}
};

} // namespace

void wait_us(std::uint64_t us) {
    sc_core::wait(static_cast<double>(us), sc_core::SC_US);
}

std::uint64_t now_us() {
    return tlmalloc::to_ps(sc_core::sc_time_stamp()) / 1'000'000;
}

void show(unsigned signal, std::uint64_t value) {
    recorded->set(signals.at(signal), tlmalloc::to_ps(sc_core::sc_time_stamp()), value);
}

int run_bench(const char *waveform) {
    tlmalloc::memory_controller::config config;
    config.memory.of[TLA_HBM].bytes = the_bench.memory_bytes;
    config.memory.of[TLA_TCM].bytes = config.memory.of[TLA_TCM].reserved = 0;
    config.object_signals = true;
    tlmalloc::hbm_slice::config bytes;
    bytes.capacity = the_bench.memory_bytes;

    tlmalloc::memory_controller controller("controller", config);
    tlmalloc::hbm_slice slice("slice", bytes);
    no_data none("none");
    controller.slice.bind(slice.in);
    none.out.bind(controller.in);
    std::deque<thread_with_port> senders;
    for (unsigned i = 0; i < the_bench.senders; i++)
        senders.emplace_back(("sender" + std::to_string(i)).c_str(), i).control.bind(controller.control);

    tlmalloc::waveform wave(waveform);
    recorded = &wave;
    controller.record(wave);
    for (unsigned i = 0; i < SIGNALS_MAX && the_bench.signals[i]; i++)
        signals.push_back(wave.declare("bench", the_bench.signals[i], 32));
    sc_core::sc_start();
    const int status = the_bench.end();
    if (wave.close()) {
        std::cerr << waveform << ": cannot be written\n";
        return 2;
    }
    return status;
}
