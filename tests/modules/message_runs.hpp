// What kernels on a platform send each other, beside the plain event model of it: when their calls return, what their
// DMA engines move.
#ifndef TLMALLOC_TESTS_MODULES_MESSAGE_RUNS_HPP
#define TLMALLOC_TESTS_MODULES_MESSAGE_RUNS_HPP

#include "plain_messages.hpp"
#include "tlmalloc/kernel.h"
#include "tlmalloc/modules/time.hpp"

#include <stdexcept>
#include <string>
#include <systemc>
#include <vector>

namespace comparison {

using namespace tlmalloc;

inline tla_config message_configuration(const std::vector<std::string> &sets) {
    std::vector<const char *> overrides;
    for (const std::string &set : sets)
        overrides.push_back(set.c_str());
    tla_config config{};
    tla_error error{};
    if (tla_config_load(nullptr, overrides.data(), overrides.size(), &config, nullptr, &error))
        throw std::runtime_error(std::string("the configuration is refused: ") + error.text);
    return config;
}

// Programs begin so late that no LAUNCH nor its answer is on a link any more, and end when nothing moves any more.
class message_run : public sc_core::sc_module {
  public:
    static constexpr std::uint64_t begin_ps = 1'000'000'000, quiet_ps = 1'000'000'000;
    static constexpr std::uint32_t room = 1 << 20; // bytes of a tile of every kernel

    // Replaces what a program calls: returns when it is over, as plain::call says.
    using collective = std::function<tla_status(tl_context *, const tl_tile &room)>;

    message_run(sc_core::sc_module_name name, const tla_config &config, std::vector<plain::program> &programs,
                collective instead = {})
        : sc_module(name), programs_(programs), instead_(std::move(instead)), platform_("npu", config, {&kernel, 1}) {
        only() = this;
        if (platform_.pes().size() != programs.size()) throw std::runtime_error("a program for each PE");
        for (unsigned pe = 0; pe < programs.size(); pe++)
            platform_.pes()[pe]->dma.ended = [this, pe](const pe_dma::request &what, std::uint64_t start_ps,
                                                        std::uint64_t end_ps, const auto &) {
                if (!over_) // then units tell each other that they receive nothing any more
                    transfers_.push_back({pe, start_ps, end_ps, what.way == pe_dma::direction::write, what.va.value,
                                          what.rows * what.row_bytes});
            };
        platform_.host().main = [this] {
            tla_error error{};
            if (platform_.host().launch(0, {}, &error)) throw std::runtime_error(error.text);
            finished_ = true;
        };
    }

    bool finished() const { return finished_; }
    const std::vector<plain::moved> &transfers() const { return transfers_; }

  private:
    static message_run *&only() {
        static message_run *run;
        return run;
    }
    static tla_status enter(tl_context *tl) { return only()->run(tl); }
    static constexpr tl_kernel kernel = enter;

    static tl_tile tile_of(const tl_tile &room_tile, const plain::tile &t) {
        return {{room_tile.pa.value + t.at},
                static_cast<std::uint32_t>(t.rows),
                static_cast<std::uint32_t>(t.row_bytes),
                TL_U8,
                static_cast<std::uint32_t>(t.pitch)};
    }

    tla_status run(tl_context *tl) {
        tl_tile mine{};
        if (const tla_status status = tl_alloc(tl, 1, room, TL_U8, &mine)) return status;
        sc_core::wait(from_ps(begin_ps) - sc_core::sc_time_stamp());
        plain::program &p = programs_[tl_program_id(tl, TL_ALL)];
        tla_status status = TLA_OK;
        if (instead_) {
            status = instead_(tl, mine);
            if (!p.empty()) p.back().returned = to_ps(sc_core::sc_time_stamp());
        } else {
            std::vector<tl_handle> handles(p.size());
            for (std::size_t i = 0; i < p.size() && status == TLA_OK; i++) {
                status = perform(tl, p[i], mine, handles, i);
                p[i].returned = to_ps(sc_core::sc_time_stamp());
            }
        }
        if (++ended_ == programs_.size())
            all_ended_.notify(sc_core::SC_ZERO_TIME);
        else
            sc_core::wait(all_ended_);
        sc_core::wait(from_ps(quiet_ps));
        over_ = true;
        return status == TLA_OK ? tl_free(tl, &mine) : status;
    }

    static tla_status perform(tl_context *tl, const plain::call &c, const tl_tile &mine,
                              std::vector<tl_handle> &handles, std::size_t i) {
        const tl_tile tile = tile_of(mine, c.data);
        switch (c.what) {
        case plain::call::send:
            return tl_send(tl, c.peer, &tile);
        case plain::call::receive:
            return tl_recv(tl, c.peer, &tile);
        case plain::call::receive_async:
            return tl_recv_async(tl, c.peer, &tile, &handles[i]);
        case plain::call::wait:
            return tl_wait(tl, handles[c.other]);
        case plain::call::pause:
            sc_core::wait(from_ps(c.other));
            return TLA_OK;
        case plain::call::add:
            break;
        }
        return TLA_UNSUPPORTED;
    }

    std::vector<plain::program> &programs_;
    const collective instead_;
    npu platform_;
    std::size_t ended_ = 0;
    sc_core::sc_event all_ended_;
    std::vector<plain::moved> transfers_;
    bool finished_ = false, over_ = false;
};

struct message_result {
    std::size_t calls, transfers, different, late;
    char first[400]; // difference
};

inline std::string text(const plain::moved &m) {
    return "PE " + std::to_string(m.pe) + (m.write ? " writes " : " reads ") + std::to_string(m.nbytes) + " at " +
           std::to_string(m.address) + " from " + std::to_string(m.start - message_run::begin_ps) + " to " +
           std::to_string(m.end - message_run::begin_ps);
}

// One simulation: once in a process. With `instead` only the last call of each program is compared.
inline message_result compare_messages(const tla_config &config, std::vector<plain::program> programs,
                                       const message_run::collective &instead = {}) {
    std::vector<plain::program> expected = programs;
    plain::messages model(config, expected, message_run::begin_ps);
    model.run();
    message_run run("run", config, programs, instead);
    sc_core::sc_start();
    if (!run.finished()) throw std::runtime_error("the programs did not end");
    message_result result{0, 0, 0, time_queue::get_late().late, ""};
    const auto differ = [&](const std::string &what) {
        if (result.different++ == 0) std::snprintf(result.first, sizeof result.first, "%s", what.c_str());
    };
    std::vector<plain::moved> ours = run.transfers(), theirs = model.transfers();
    std::sort(ours.begin(), ours.end());
    std::sort(theirs.begin(), theirs.end());
    if (ours.size() != theirs.size())
        differ(std::to_string(ours.size()) + " transfers, should be " + std::to_string(theirs.size()));
    for (std::size_t i = 0; i < std::min(ours.size(), theirs.size()); i++)
        if (!(ours[i] == theirs[i])) differ(text(ours[i]) + ", should be: " + text(theirs[i]));
    result.transfers = ours.size();
    for (std::size_t pe = 0; pe < programs.size(); pe++)
        for (std::size_t i = instead && !programs[pe].empty() ? programs[pe].size() - 1 : 0; i < programs[pe].size();
             i++, result.calls++)
            if (programs[pe][i].returned != expected[pe][i].returned)
                differ("call " + std::to_string(i) + " (" + std::to_string(programs[pe][i].what) + ") of program " +
                       std::to_string(pe) + " returns at " +
                       std::to_string(programs[pe][i].returned - message_run::begin_ps) + ", should " +
                       std::to_string(expected[pe][i].returned - message_run::begin_ps));
    return result;
}

} // namespace comparison
#endif
