// The engine of model/rtl as a module among others: signals, a clock, and a waveform of its ports.
#ifndef CLOCKED_FIRST_FIT_HPP
#define CLOCKED_FIRST_FIT_HPP

#include "first_fit_rtl.h" // by Verilator from first_fit_engine.sv, as a module of SystemC's

#include "tlmalloc/arena/engine.h"
#include "tlmalloc/modules/time.hpp"
#include "tlmalloc/wave.h"

#include <functional>
#include <utility>
#include <vector>

// Threads call it. `wave` shows its ports from the beginning on, by their names in the RTL, with `operation` for
// command_free and `cycles` for the duration of the last command; it must live as long as the simulation.
class clocked_first_fit : public sc_core::sc_module {
  public:
    sc_core::sc_in<bool> clock{"clock"};

    clocked_first_fit(sc_core::sc_module_name name, std::uint64_t capacity, tla_wave &wave)
        : sc_module(name), engine_("engine"), wave_(wave) {
        engine_.clk(clock);
        engine_.rst(reset_);
        engine_.base(base_);
        engine_.capacity(capacity_);
        engine_.nodes(nodes_);
        engine_.command_valid(command_valid_);
        engine_.command_ready(command_ready_);
        engine_.command_free(operation_);
        engine_.command_offset(command_offset_);
        engine_.command_size(command_size_);
        engine_.answer_valid(answer_valid_);
        engine_.answer_ready(answer_ready_);
        engine_.answer_status(answer_status_);
        engine_.answer_offset(answer_offset_);
        capacity_.write(capacity);
        nodes_.write(TLA_RTL_NODES);
        answer_ready_.write(true);
        TLMALLOC_HAS_PROCESS(clocked_first_fit);
        SC_METHOD(show);
        sensitive << clock;
        declare("clock", 1, [this] { return std::uint64_t{clock.read()}; });
        show_signal(reset_, "rst", 1);
        show_signal(command_valid_, "command_valid", 1);
        show_signal(command_ready_, "command_ready", 1);
        show_signal(operation_, "operation", 1);
        show_signal(command_offset_, "command_offset", width);
        show_signal(command_size_, "command_size", width);
        show_signal(answer_valid_, "answer_valid", 1);
        show_signal(answer_status_, "answer_status", 2);
        show_signal(answer_offset_, "answer_offset", width);
        show_signal(cycles_, "cycles", 32);
    }

    // All of the range is one free block afterwards.
    void reset() {
        reset_.write(true);
        wait(clock.posedge_event());
        reset_.write(false);
        wait(clock.posedge_event());
    }

    // Offers the command until it is taken, and counts the cycles from there until the answer is valid.
    tla_engine_answer ask(const tla_engine_request &request) {
        command_valid_.write(true);
        operation_.write(request.give_back);
        command_offset_.write(request.offset);
        command_size_.write(request.size);
        do
            wait(clock.posedge_event());
        while (!command_ready_.read());
        command_valid_.write(false);
        std::uint32_t cycles = 0;
        do {
            wait(clock.posedge_event());
            cycles++;
        } while (!answer_valid_.read());
        cycles_.write(cycles);
        return {static_cast<tla_engine_status>(answer_status_.read()), answer_offset_.read(), cycles};
    }

  private:
    enum : unsigned { width = 33 };

    struct shown {
        tla_wave_signal signal;
        std::function<std::uint64_t()> value;
    };

    void declare(const char *name, unsigned bits, std::function<std::uint64_t()> value) {
        tla_wave_signal signal = 0;
        if (tla_wave_declare(&wave_, "engine", name, bits, &signal, nullptr))
            SC_REPORT_ERROR("/clocked_first_fit/declare", name);
        shown_.push_back({signal, std::move(value)});
    }

    template <typename T>
    void show_signal(sc_core::sc_signal<T> &signal, const char *name, unsigned bits) {
        sensitive << signal;
        declare(name, bits, [&signal] { return static_cast<std::uint64_t>(signal.read()); });
    }

    void show() {
        for (const shown &s : shown_)
            tla_wave_set(&wave_, s.signal, tlmalloc::to_ps(sc_core::sc_time_stamp()), s.value());
    }

    first_fit_rtl engine_;
    tla_wave &wave_;
    std::vector<shown> shown_;
    sc_core::sc_signal<bool> reset_{"rst"}, command_valid_{"command_valid"}, command_ready_{"command_ready"},
        operation_{"operation"}, answer_valid_{"answer_valid"}, answer_ready_{"answer_ready"};
    sc_core::sc_signal<std::uint64_t> base_{"base"}, capacity_{"capacity"}, command_offset_{"command_offset"},
        command_size_{"command_size"}, answer_offset_{"answer_offset"};
    sc_core::sc_signal<std::uint32_t> answer_status_{"answer_status"}, cycles_{"cycles"}, nodes_{"nodes"};
};

#endif
