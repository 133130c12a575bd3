// Two memory controllers whose blocks move, with PEs that reach them through MMUs. Stand-ins on the ways between them
// make the mistakes of a wrong platform.
#ifndef TLMALLOC_TESTS_MODULES_MOVING_BENCH_HPP
#define TLMALLOC_TESTS_MODULES_MOVING_BENCH_HPP

#include "bare.hpp"
#include "tlmalloc/modules.hpp"

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <tlm_utils/multi_passthrough_target_socket.h>
#include <tlm_utils/simple_initiator_socket.h>

namespace moving {

using namespace tlmalloc;

constexpr std::uint64_t page = 4096, hbm_bytes = 24 * page, tcm_bytes = 10 * page;
constexpr unsigned controllers = 2;

// Addresses: windows for commands below, memories above.
constexpr std::uint64_t window = 1 << 20, manager_window = 0;
constexpr std::uint64_t controller_window(unsigned c) {
    return (1 + c) * window;
}
constexpr std::uint64_t mmu_window(unsigned pe) {
    return (16 + pe) * window;
}
constexpr std::uint64_t memory_base(unsigned c, unsigned kind) {
    return (std::uint64_t{c + 1} << 33) + (kind == TLA_TCM ? 1 << 24 : 0);
}
constexpr std::uint64_t memory_bytes(unsigned kind) {
    return kind == TLA_TCM ? tcm_bytes : hbm_bytes;
}

// Ports of a window: those of actors begin behind the others.
enum : unsigned { port_of_moves = 0, port_of_pages = 3, port_of_tables = 4, port_of_actors = 8, ports = 64 };

// Mistakes that stand-ins make.
enum class mistake {
    none,
    remap_skipped, // an MMU acknowledges REMAP and keeps its old mapping
    remap_late,    // an MMU acknowledges REMAP at once, so that the old place is free before the MMU leads elsewhere
    pause_skipped, // an MMU acknowledges PAUSE, and accesses go on
    writes_unseen  // writes pass the controller by, so that it copies no dirty chunk again
};

// From everybody to everybody, by windows of addresses; it takes no time.
struct router : sc_core::sc_module {
    using path = std::function<bool(tlm::tlm_generic_payload &, sc_core::sc_time &)>;

    explicit router(sc_core::sc_module_name name) : sc_module(name) {
        in.register_b_transport(this, &router::b_transport);
        in.register_transport_dbg(this, &router::transport_dbg);
    }
    template <typename Socket>
    void lead(std::uint64_t first, std::uint64_t nbytes, std::uint64_t to, Socket &socket, path before = {}) {
        out.emplace_back(("out" + std::to_string(out.size())).c_str());
        out.back().bind(socket);
        windows.push_back({first, nbytes, to, std::move(before)});
    }

    tlm_utils::multi_passthrough_target_socket<router> in{"in"};
    std::deque<tlm_utils::simple_initiator_socket<router>> out;

  private:
    struct lead_on {
        std::uint64_t first, nbytes, to;
        path before; // answers an access itself, and returns true
    };
    std::size_t find(std::uint64_t address) const {
        for (std::size_t i = 0; i < windows.size(); i++)
            if (address - windows[i].first < windows[i].nbytes) return i;
        return windows.size();
    }
    void b_transport(int, tlm::tlm_generic_payload &payload, sc_core::sc_time &delay) {
        const std::uint64_t address = payload.get_address();
        const std::size_t to = find(address);
        payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
        if (to == windows.size()) return;
        payload.set_response_status(tlm::TLM_INCOMPLETE_RESPONSE);
        payload.set_address(address - windows[to].first + windows[to].to);
        if (!windows[to].before || !windows[to].before(payload, delay)) out[to]->b_transport(payload, delay);
        payload.set_address(address);
    }
    unsigned transport_dbg(int, tlm::tlm_generic_payload &payload) {
        const std::uint64_t address = payload.get_address();
        const std::size_t to = find(address);
        if (to == windows.size()) return 0;
        payload.set_address(address - windows[to].first + windows[to].to);
        const unsigned moved = out[to]->transport_dbg(payload);
        payload.set_address(address);
        return moved;
    }
    std::vector<lead_on> windows;
};

// In front of an MMU: acknowledges some commands by itself. The MMU gets them later, or never.
struct early_answers : sc_core::sc_module {
    early_answers(sc_core::sc_module_name name, std::set<tla_opcode> commands, std::uint64_t later_ps)
        : sc_module(name), answered(std::move(commands)), later(from_ps(later_ps)) {
        TLMALLOC_HAS_PROCESS(early_answers);
        SC_THREAD(deliver);
    }
    bool answer(tlm::tlm_generic_payload &payload) {
        const std::uint64_t port = payload.get_address() / TLA_PORT_BYTES, at = payload.get_address() % TLA_PORT_BYTES;
        tla_command command{};
        if (payload.is_write()) {
            open.erase(port);
            if (tla_command_decode(payload.get_data_ptr(), payload.get_data_length(), &command, nullptr)) return false;
            if (answered.count(command.opcode) == 0) return false;
            tla_completion &done = open[port] = control_window::answer_to(command);
            done.nbytes = command.count;
            if (later > sc_core::SC_ZERO_TIME) {
                on_the_way.emplace_back(sc_core::sc_time_stamp() + later, command);
                comes.notify(sc_core::SC_ZERO_TIME);
            }
        } else {
            const auto found = open.find(port);
            if (found == open.end() || at != TLA_PORT_COMPLETION) return false;
            tla_completion_encode(&found->second, payload.get_data_ptr());
        }
        payload.set_response_status(tlm::TLM_OK_RESPONSE);
        return true;
    }
    void deliver() {
        for (;;) {
            while (on_the_way.empty())
                sc_core::wait(comes);
            const auto [at, command] = on_the_way.front();
            on_the_way.pop_front();
            if (at > sc_core::sc_time_stamp()) sc_core::wait(at - sc_core::sc_time_stamp());
            tla_completion done{};
            sc_core::sc_time delay;
            send_command(out, 15 * TLA_PORT_BYTES, command, done, delay);
            sc_core::wait(delay);
        }
    }

    const std::set<tla_opcode> answered;
    const sc_core::sc_time later; // 0: never
    std::map<std::uint64_t, tla_completion> open;
    std::deque<std::pair<sc_core::sc_time, tla_command>> on_the_way;
    sc_core::sc_event comes;
    tlm_utils::simple_initiator_socket<early_answers> out{"out"};
};

struct platform_settings {
    tla_move_mode mode = TLA_MOVE_CONCURRENT;
    tla_walk_mode walk = TLA_WALK_IDEAL;
    unsigned pes = 3;
    mistake wrong = mistake::none;
    bool guarded = false;           // the controllers report wrong accesses
    bool controllers_serve = false; // page faults
};

struct platform : sc_core::sc_module {
    platform(sc_core::sc_module_name name, const platform_settings &s)
        : sc_module(name), settings(s), manager("manager", manager_config(s)) {
        for (unsigned c = 0; c < controllers; c++)
            add_controller(c);
        paths.lead(manager_window, window, 0, manager.control);
        manager.out.bind(paths.in);
        manager.reset_in.bind(line_of_mappings);
        for (unsigned pe = 0; pe < s.pes; pe++)
            add_mmu(pe);
        if (s.wrong == mistake::writes_unseen) return;
        for (unsigned c = 0; c < controllers; c++)
            data.lead(memory_base(c, TLA_HBM), std::uint64_t{1} << 32, memory_base(c, TLA_HBM), control[c]->in);
    }

    std::vector<const resettable *> parts_of(unsigned c) const {
        return {control[c].get(), slices[c].get(), tcms[c].get()};
    }
    std::vector<const resettable *> parts_of_mappings() const {
        std::vector<const resettable *> all{&manager};
        for (const auto &m : mmus)
            all.push_back(m.get());
        return all;
    }
    std::vector<instrumented *> modules() {
        std::vector<instrumented *> all{&manager};
        for (unsigned c = 0; c < controllers; c++)
            all.insert(all.end(), {control[c].get(), slices[c].get(), tcms[c].get()});
        for (const auto &m : mmus)
            all.push_back(m.get());
        return all;
    }

    const platform_settings settings;
    router paths{"paths"}, data{"data"}; // for all; for the MMUs' accesses
    va_manager manager;
    std::deque<std::unique_ptr<memory_controller>> control;
    std::deque<std::unique_ptr<hbm_slice>> slices;
    std::deque<std::unique_ptr<tcm>> tcms;
    std::deque<std::unique_ptr<pe_mmu>> mmus;
    std::deque<std::unique_ptr<early_answers>> stand_ins;
    std::deque<std::unique_ptr<router>> hubs; // writes_unseen: in front of memories
    std::deque<sc_core::sc_signal<bool>> lines{controllers};
    sc_core::sc_signal<bool> line_of_mappings{"line_of_mappings"};

  private:
    static va_manager::config manager_config(const platform_settings &s) {
        va_manager::config config = bare<va_manager>();
        config.ports = ports;
        config.queue_depth = 64;
        config.cost.fixed_ps = 20'000;
        for (unsigned pe = 0; pe < s.pes; pe++)
            config.routes.push_back({mmu_window(pe), {1, 1, 1u << pe}, false});
        return config;
    }
    memory_controller::config controller_config(unsigned c) const {
        memory_controller::config config = bare<memory_controller>();
        config.memory.layout = TLA_LAYOUT_PLAIN;
        for (const tla_memory_kind kind : {TLA_HBM, TLA_TCM}) {
            config.memory.of[kind].bytes = memory_bytes(kind);
            config.memory.of[kind].base = memory_base(c, kind);
        }
        config.memory.of[TLA_TCM].reserved = 0;
        config.memory.validate = true;
        config.ports = ports;
        config.queue_depth = 64;
        config.cost.alloc_ps = 100'000;
        config.cost.free_ps = 80'000;
        config.cost.metadata_line_ps = 5'000;
        config.move = {settings.mode, 512, 2};
        config.maps_port = manager_window + (port_of_moves + c) * TLA_PORT_BYTES;
        config.maps_target = TLA_TARGET_VA_MANAGER;
        if (settings.controllers_serve) {
            config.fault_page_size = page;
            config.fault_port = port_of_pages;
        }
        if (settings.guarded) config.guard = TLA_GUARD_REPORT;
        config.memory.guarded = settings.guarded;
        return config;
    }
    void add_controller(unsigned c) {
        const std::string number = std::to_string(c);
        hbm_slice::config of_slice = bare<hbm_slice>();
        of_slice.capacity = hbm_bytes;
        tcm::config of_tcm = bare<tcm>();
        of_tcm.capacity = tcm_bytes;
        slices.push_back(std::make_unique<hbm_slice>(("slice" + number).c_str(), of_slice));
        tcms.push_back(std::make_unique<tcm>(("tcm" + number).c_str(), of_tcm));
        control.push_back(std::make_unique<memory_controller>(("controller" + number).c_str(), controller_config(c)));
        memory_controller &of = *control.back();
        connect(of.slice, c, TLA_HBM, slices[c]->in);
        connect(of.tcm, c, TLA_TCM, tcms[c]->in);
        of.maps.bind(paths.in);
        paths.lead(controller_window(c), window, 0, of.control);
        paths.lead(memory_base(c, TLA_HBM), std::uint64_t{1} << 32, memory_base(c, TLA_HBM), of.in);
        for (resettable *part : {static_cast<resettable *>(&of), static_cast<resettable *>(slices[c].get()),
                                 static_cast<resettable *>(tcms[c].get())})
            part->reset_in.bind(lines[c]);
    }
    // A memory behind its controller, or behind a hub to which writes of MMUs lead too.
    template <typename From, typename To>
    void connect(From &socket, unsigned c, tla_memory_kind kind, To &memory) {
        if (settings.wrong != mistake::writes_unseen) {
            socket.bind(memory);
            return;
        }
        hubs.push_back(std::make_unique<router>(("hub" + std::to_string(hubs.size())).c_str()));
        hubs.back()->lead(0, memory_bytes(kind), 0, memory);
        socket.bind(hubs.back()->in);
        data.lead(memory_base(c, kind), memory_bytes(kind), 0, hubs.back()->in);
    }
    void add_mmu(unsigned pe) {
        const std::string number = std::to_string(pe);
        pe_mmu::config config = bare<pe_mmu>();
        config.page_size = page;
        config.va_bits = 48;
        config.pauses = true;
        config.unmapped = TLA_UNMAPPED_DEMAND;
        if (settings.controllers_serve) config.fault_handler = TLA_FAULT_HANDLER_CONTROLLER;
        config.cost.fixed_ps = 30'000;
        config.overhead_ps = 500;
        config.ports = 16;
        config.walk = settings.walk;
        if (settings.walk != TLA_WALK_IDEAL) config.tlb_l1 = {4, 0, 1000, TLA_REPLACE_LRU};
        config.allocator_port = port_of_tables + pe;
        mmus.push_back(std::make_unique<pe_mmu>(("mmu" + number).c_str(), config));
        pe_mmu &of = *mmus.back();
        of.out.bind(data.in);
        if (settings.walk == TLA_WALK_MEMORY) {
            of.walk.bind(control[0]->in);
            of.allocator.bind(control[0]->control);
        }
        of.reset_in.bind(line_of_mappings);
        router::path stand_in;
        std::set<tla_opcode> early;
        if (settings.wrong == mistake::remap_skipped || settings.wrong == mistake::remap_late) early = {TLA_OP_REMAP};
        if (settings.wrong == mistake::pause_skipped) early = {TLA_OP_PAUSE, TLA_OP_RESUME};
        if (!early.empty() && pe == 0) {
            stand_ins.push_back(std::make_unique<early_answers>("early_answers", early,
                                                                settings.wrong == mistake::remap_late ? 3'000'000 : 0));
            stand_ins.back()->out.bind(of.control);
            stand_in = [this](tlm::tlm_generic_payload &payload, sc_core::sc_time &) {
                return stand_ins.back()->answer(payload);
            };
        }
        paths.lead(mmu_window(pe), window, 0, of.control, stand_in);
    }
};

} // namespace moving
#endif
