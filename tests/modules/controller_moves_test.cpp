// MOVE of a memory controller: its time, and the bytes that PEs find in a block that moves while they use it.
#include "bare.hpp"
#include "test_initiator.hpp"
#include "tlmalloc/modules/hbm_slice.hpp"
#include "tlmalloc/modules/instrumented.hpp"
#include "tlmalloc/modules/memory_controller.hpp"
#include "tlmalloc/modules/pe_mmu.hpp"
#include "tlmalloc/modules/tcm.hpp"
#include "tlmalloc/modules/va_manager.hpp"

#include <fstream>
#include <iterator>
#include <memory>
#include <random>
#include <sstream>
#include <tlm_utils/simple_target_socket.h>

using namespace tlmalloc;
using namespace test_initiator;

namespace {

constexpr std::uint64_t page = 4096, hbm_bytes = 1 << 20, tcm_bytes = 1 << 16, tcm_base = 1 << 24, va = 0x100000;
constexpr std::uint64_t alloc_price = 300'000, free_price = 500'000, mmu_price = 70'000;
constexpr std::uint64_t at_neighbour = std::uint64_t{1} << 32;
constexpr unsigned mover_port = 3; // of the manager's

std::uint64_t now_ps() {
    return to_ps(sc_core::sc_time_stamp());
}

memory_controller::config controller_config(tla_move_mode mode) {
    memory_controller::config config = bare<memory_controller>();
    config.memory.layout = TLA_LAYOUT_PLAIN;
    config.memory.of[TLA_HBM].bytes = hbm_bytes;
    config.memory.of[TLA_TCM].bytes = tcm_bytes;
    config.memory.of[TLA_TCM].reserved = 0;
    config.memory.of[TLA_TCM].base = tcm_base;
    config.memory.validate = true;
    config.cost.alloc_ps = alloc_price;
    config.cost.free_ps = free_price;
    config.move = {mode, 1024, 2};
    config.move_buffers = 1;
    config.maps_port = mover_port * TLA_PORT_BYTES;
    config.maps_target = TLA_TARGET_VA_MANAGER;
    return config;
}

tcm::config tcm_config() {
    tcm::config config = bare<tcm>();
    config.capacity = tcm_bytes;
    return config;
}

hbm_slice::config slice_config() {
    hbm_slice::config config = bare<hbm_slice>();
    config.capacity = hbm_bytes;
    return config;
}

va_manager::config manager_config(unsigned pes) {
    va_manager::config config = bare<va_manager>();
    config.ports = 4;
    for (unsigned i = 0; i < pes; i++)
        config.routes.push_back({i * (std::uint64_t{1} << 32), {1, 1, 1u << i}});
    return config;
}

pe_mmu::config mmu_config() {
    pe_mmu::config config = bare<pe_mmu>();
    config.page_size = page;
    config.pauses = true;
    config.cost.fixed_ps = mmu_price;
    return config;
}

// From the manager to the MMUs: by the upper half of an address.
struct switchboard : sc_core::sc_module {
    switchboard(sc_core::sc_module_name name, unsigned targets) : sc_module(name) {
        for (unsigned i = 0; i < targets; i++)
            out.emplace_back(("out" + std::to_string(i)).c_str());
        in.register_b_transport(this, &switchboard::b_transport);
    }
    void b_transport(tlm::tlm_generic_payload &payload, sc_core::sc_time &delay) {
        const std::uint64_t address = payload.get_address();
        payload.set_address(address & UINT32_MAX);
        out[address >> 32]->b_transport(payload, delay);
        payload.set_address(address);
    }
    tlm_utils::simple_target_socket<switchboard> in{"in"};
    std::deque<tlm_utils::simple_initiator_socket<switchboard>> out;
};

// PEs with an MMU each, a manager of their mappings, and a controller with an HBM slice and a TCM.
struct bench {
    explicit bench(tla_move_mode mode, unsigned pes = 1) : bench(controller_config(mode), pes) {}
    explicit bench(const memory_controller::config &config, unsigned pes = 1,
                   const pe_mmu::config &of_mmus = mmu_config(), bool has_neighbour = false)
        : controller("controller", config), manager("manager", manager_config(pes)), board("board", pes) {
        controller.slice.bind(slice.in);
        controller.tcm.bind(local.in);
        if (has_neighbour) {
            neighbour = std::make_unique<tcm>("neighbour", tcm_config());
            paths = std::make_unique<switchboard>("paths", 2);
            controller.maps.bind(paths->in);
            paths->out[0].bind(manager.control);
            paths->out[1].bind(neighbour->in);
        } else {
            controller.maps.bind(manager.control);
        }
        driver.out.bind(controller.control);
        mapper.out.bind(manager.control);
        manager.out.bind(board.in);
        observer.out.bind(controller.in);
        for (unsigned i = 0; i < pes; i++) {
            const std::string number = std::to_string(i);
            mmus.push_back(std::make_unique<pe_mmu>(("mmu" + number).c_str(), of_mmus));
            cpus.push_back(std::make_unique<initiator>(("cpu" + number).c_str()));
            board.out[i].bind(mmus.back()->control);
            cpus.back()->out.bind(mmus.back()->in);
            mmus.back()->out.bind(controller.in);
        }
    }
    void run(std::function<void()> body) {
        reports().clear();
        driver.body = std::move(body);
        sc_core::sc_report_handler::set_handler(keep_report);
        sc_core::sc_start();
        BOOST_CHECK(driver.finished);
    }
    std::uint64_t alloc(std::uint64_t nbytes, tla_memory_kind kind = TLA_HBM) {
        return driver.command(0, alloc_command(kind, nbytes)).value;
    }
    void map(std::uint64_t pa, std::uint64_t nbytes) {
        const tla_scope all{1, 1, ~0u};
        BOOST_CHECK_EQUAL(
            mapper.command(0, map_command(TLA_TARGET_VA_MANAGER, TLA_OP_MAP, {{va, pa, nbytes}}, all)).status, TLA_OK);
        BOOST_CHECK_EQUAL(
            driver.command(0, map_command(TLA_TARGET_MEMORY_CONTROLLER, TLA_OP_BIND, {{va, pa, nbytes}}, all)).status,
            TLA_OK);
    }
    tla_completion move_to_neighbour(std::uint64_t pa, std::uint64_t offset) {
        tla_command command{};
        command.opcode = TLA_OP_MOVE;
        command.target = TLA_TARGET_MEMORY_CONTROLLER;
        command.pa = {pa};
        command.elsewhere = true;
        command.to = {at_neighbour + offset};
        return driver.command(0, command);
    }
    tla_completion move(std::uint64_t pa, tla_memory_kind to = TLA_HBM, unsigned port = 0) {
        tla_command command{};
        command.opcode = TLA_OP_MOVE;
        command.target = TLA_TARGET_MEMORY_CONTROLLER;
        command.pa = {pa};
        command.memory = to;
        return driver.command(port * TLA_PORT_BYTES, command);
    }

    hbm_slice slice{"slice", slice_config()};
    tcm local{"tcm", tcm_config()};
    memory_controller controller;
    va_manager manager;
    switchboard board;
    std::unique_ptr<tcm> neighbour; // a memory of another controller
    std::unique_ptr<switchboard> paths;
    initiator driver{"driver"}, mapper{"mapper"}, observer{"observer"};
    std::deque<std::unique_ptr<pe_mmu>> mmus;
    std::deque<std::unique_ptr<initiator>> cpus;
};

} // namespace

BOOST_AUTO_TEST_CASE(a_moved_block_has_its_bytes_in_its_new_place_and_its_old_place_is_free) {
    bench b(TLA_MOVE_STOP, 2);
    b.run([&] {
        const std::uint64_t pa = b.alloc(3 * page);
        b.map(pa, 3 * page);
        b.cpus[0]->write(va, pattern(3 * page));
        const tla_completion done = b.move(pa, TLA_TCM);
        BOOST_CHECK_EQUAL(done.status, TLA_OK);
        BOOST_CHECK_EQUAL(done.value, tcm_base);
        BOOST_CHECK_EQUAL(done.nbytes, 3 * page);
        BOOST_CHECK(b.cpus[1]->read(va, 3 * page) == pattern(3 * page));
        BOOST_CHECK(b.observer.read(tcm_base, 3 * page) == pattern(3 * page));
        const memory_controller::statistics hbm = b.controller.get_statistics(TLA_HBM);
        BOOST_CHECK_EQUAL(hbm.arena.used, 0u);
        BOOST_CHECK_EQUAL(hbm.moved_blocks, 1u);
        BOOST_CHECK_EQUAL(hbm.moved_bytes, 3 * page);
        BOOST_CHECK_EQUAL(b.driver.command(0, free_command(tcm_base, 3 * page)).status, TLA_OK);
    });
    BOOST_CHECK(reports().empty());
}

// Price of the list, PAUSE at every MMU, each chunk read and then written, REMAP, RESUME. The old place is freed beside
// the RESUME.
BOOST_AUTO_TEST_CASE(a_single_move_takes_its_closed_form) {
    bench b(TLA_MOVE_STOP);
    b.run([&] {
        const std::uint64_t nbytes = 5000, pa = b.alloc(nbytes);
        b.map(pa, nbytes);
        sc_core::wait(1, sc_core::SC_US);
        const auto took = [&](std::uint64_t address, std::size_t length) { // there and back are alike
            const std::uint64_t begin_ps = now_ps();
            b.observer.read(address, length);
            return now_ps() - begin_ps;
        };
        std::uint64_t copies_ps = 0;
        for (const std::uint64_t length : {1024u, 1024u, 1024u, 1024u, 904u}) {
            copies_ps += took(pa, length);
            const std::uint64_t begin_ps = now_ps();
            b.observer.write(tcm_base, bytes(length));
            copies_ps += now_ps() - begin_ps;
        }
        sc_core::wait(1, sc_core::SC_US);
        const std::uint64_t begin_ps = now_ps();
        const tla_completion done = b.move(pa, TLA_TCM);
        const std::uint64_t freed_ps = alloc_price + mmu_price + copies_ps + mmu_price + free_price;
        const std::uint64_t resumed_ps = alloc_price + mmu_price + copies_ps + 2 * mmu_price;
        BOOST_CHECK_EQUAL(now_ps() - begin_ps, std::max(freed_ps, resumed_ps));
        BOOST_CHECK_EQUAL(done.service_ps, std::max(freed_ps, resumed_ps) - alloc_price);
        BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_HBM).stop_ps, resumed_ps - alloc_price);
    });
}

// The list works for the FREE only: the new place is another controller's.
BOOST_AUTO_TEST_CASE(a_single_move_to_another_controller_takes_its_closed_form) {
    bench b(controller_config(TLA_MOVE_STOP), 1, mmu_config(), true);
    b.run([&] {
        const std::uint64_t nbytes = 5000, pa = b.alloc(nbytes);
        b.map(pa, nbytes);
        b.observer.write(pa, pattern(nbytes));
        sc_core::wait(1, sc_core::SC_US);
        std::uint64_t copies_ps = 0;
        for (const std::uint64_t length : {1024u, 1024u, 1024u, 1024u, 904u}) {
            const std::uint64_t begin_ps = now_ps();
            b.observer.read(pa, length);
            b.observer.write(tcm_base, bytes(length)); // as the neighbour's memory
            copies_ps += now_ps() - begin_ps;
        }
        sc_core::wait(1, sc_core::SC_US);
        const std::uint64_t begin_ps = now_ps();
        const tla_completion done = b.move_to_neighbour(pa, 512);
        const std::uint64_t freed_ps = mmu_price + copies_ps + mmu_price + free_price;
        const std::uint64_t resumed_ps = mmu_price + copies_ps + 2 * mmu_price;
        BOOST_CHECK_EQUAL(done.status, TLA_OK);
        BOOST_CHECK_EQUAL(done.value, at_neighbour + 512);
        BOOST_CHECK_EQUAL(now_ps() - begin_ps, std::max(freed_ps, resumed_ps));
        BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_HBM).stop_ps, resumed_ps);
        BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_HBM).arena.used, 0u);
        tlm::tlm_generic_payload look;
        bytes data(nbytes);
        look.set_read();
        look.set_address(512);
        look.set_data_ptr(data.data());
        look.set_data_length(nbytes);
        BOOST_CHECK_EQUAL(b.paths->out[1]->transport_dbg(look), nbytes);
        BOOST_CHECK(data == pattern(nbytes));
    });
    BOOST_CHECK(reports().empty());
}

BOOST_AUTO_TEST_CASE(with_two_buffers_a_chunk_is_read_while_another_is_written) {
    constexpr std::uint64_t chunks = 16;
    memory_controller::config config = controller_config(TLA_MOVE_STOP);
    config.move_buffers = 2;
    bench b(config);
    b.run([&] {
        const std::uint64_t pa = b.alloc(chunks * 1024);
        b.map(pa, chunks * 1024);
        sc_core::wait(1, sc_core::SC_US);
        std::uint64_t begin_ps = now_ps();
        b.observer.read(pa, 1024);
        const std::uint64_t read_ps = now_ps() - begin_ps;
        begin_ps = now_ps();
        b.observer.write(tcm_base, bytes(1024));
        const std::uint64_t write_ps = now_ps() - begin_ps;
        BOOST_CHECK_EQUAL(b.move(pa, TLA_TCM).status, TLA_OK);
        const std::uint64_t copies_ps = b.controller.get_statistics(TLA_HBM).stop_ps - 3 * mmu_price;
        BOOST_CHECK_GT(copies_ps, chunks * std::max(read_ps, write_ps) / 2); // two reads are under way at most
        BOOST_CHECK_LT(copies_ps, chunks * (read_ps + write_ps));
    });
}

BOOST_AUTO_TEST_CASE(a_concurrent_move_without_writes_stops_accesses_for_its_commands_only) {
    bench b(TLA_MOVE_CONCURRENT);
    b.run([&] {
        const std::uint64_t pa = b.alloc(32 * 1024);
        b.map(pa, 32 * 1024);
        BOOST_CHECK_EQUAL(b.move(pa, TLA_TCM).status, TLA_OK);
    });
    BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_HBM).stop_ps, 3 * mmu_price);
    BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_HBM).longest_stop_ps, 3 * mmu_price);
}

namespace {

// The times and values of a figure in a waveform of text.
std::vector<std::pair<std::uint64_t, std::uint64_t>> changes_of(const std::string &figure, std::istream &wave) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> changes;
    std::uint64_t at_ps = 0;
    std::string identifier;
    for (std::string text; std::getline(wave, text);) {
        std::istringstream line(text);
        const std::vector<std::string> words{std::istream_iterator<std::string>(line), {}};
        if (words.size() > 4 && words[0] == "$var" && words[4] == figure) identifier = words[3];
        if (words.size() == 1 && text[0] == '#') at_ps = std::stoull(text.substr(1));
        if (words.size() == 2 && words[1] == identifier)
            changes.emplace_back(at_ps, std::stoull(words[0].substr(1), nullptr, 2));
    }
    return changes;
}

} // namespace

BOOST_AUTO_TEST_CASE(figures_show_a_new_place_when_it_is_allocated_and_references_when_they_have_moved) {
    const char *const file = "controller_moves.vcd";
    std::uint64_t allocated_ps = 0, ended_ps = 0;
    {
        memory_controller::config config = controller_config(TLA_MOVE_STOP);
        config.object_signals = true;
        bench b(config);
        waveform wave(file);
        b.controller.record(wave);
        b.run([&] {
            const std::uint64_t pa = b.alloc(page);
            b.map(pa, page);
            sc_core::wait(10, sc_core::SC_US);
            allocated_ps = now_ps() + alloc_price;
            BOOST_CHECK_EQUAL(b.move(pa, TLA_TCM).status, TLA_OK);
            ended_ps = now_ps();
        });
        wave.close();
    }
    const auto last = [&](const char *figure) {
        std::ifstream in(file);
        const auto changes = changes_of(figure, in);
        BOOST_REQUIRE_MESSAGE(!changes.empty(), figure);
        return changes.back();
    };
    BOOST_CHECK_EQUAL(last("tcm_used_bytes").first, allocated_ps);
    BOOST_CHECK_EQUAL(last("tcm_used_bytes").second, page);
    BOOST_CHECK_EQUAL(last("hbm_used_bytes").second, 0u);
    BOOST_CHECK_EQUAL(last("tcm_references").first, ended_ps);
    BOOST_CHECK_EQUAL(last("tcm_references").second, 1u);
    BOOST_CHECK_EQUAL(last("hbm_references").second, 0u);
}

BOOST_AUTO_TEST_CASE(moves_that_cannot_begin_are_answered_at_once) {
    bench b(TLA_MOVE_STOP);
    b.run([&] {
        const std::uint64_t pa = b.alloc(page);
        BOOST_CHECK_EQUAL(b.move(pa).status, TLA_UNMAPPED);
        b.map(pa, page);
        tla_command pin{};
        pin.opcode = TLA_OP_PIN;
        pin.target = TLA_TARGET_MEMORY_CONTROLLER;
        pin.pa = {pa};
        BOOST_CHECK_EQUAL(b.driver.command(0, pin).status, TLA_OK);
        BOOST_CHECK_EQUAL(b.move(pa).status, TLA_BUSY);
    });
    BOOST_REQUIRE_EQUAL(reports().size(), 2u);
    BOOST_CHECK_EQUAL(reports()[1],
                      "/tlmalloc/memory_controller/reference: controller: MOVE of 0x0: the block has 1 pins");
}

BOOST_AUTO_TEST_CASE(a_block_with_exclusively_reserved_bytes_does_not_move) {
    bench b(TLA_MOVE_STOP);
    requester core(0, 5);
    b.run([&] {
        const std::uint64_t pa = b.alloc(page), other = b.alloc(page);
        b.map(pa, page);
        core.exclusive = true;
        b.observer.as = &core;
        b.observer.read(pa + 100, 8);
        b.observer.as = nullptr;
        BOOST_CHECK_EQUAL(b.move(pa).status, TLA_BUSY);
        b.observer.write(pa + 100, bytes(8)); // breaks it
        BOOST_CHECK_EQUAL(b.move(pa).status, TLA_OK);
        (void)other;
    });
}

// In a slice with an owner two blocks exchange their places, and nobody frees the old one.
BOOST_AUTO_TEST_CASE(bytes_reserved_during_a_move_are_not_reserved_in_the_old_place_afterwards) {
    memory_controller::config config = controller_config(TLA_MOVE_CONCURRENT);
    config.ports = 4;
    config.owner_port = 2;
    bench b(config);
    requester core(0, 5);
    core.exclusive = true;
    b.run([&] {
        const auto place = [&](std::uint64_t pa) {
            tla_command command{};
            command.opcode = TLA_OP_PLACE;
            command.target = TLA_TARGET_MEMORY_CONTROLLER;
            command.pa = {pa};
            command.nbytes = page;
            BOOST_CHECK_EQUAL(b.driver.command(2 * TLA_PORT_BYTES, command).status, TLA_OK);
        };
        place(0);
        place(page);
        b.map(0, page);
        tla_command move{};
        move.opcode = TLA_OP_MOVE;
        move.target = TLA_TARGET_MEMORY_CONTROLLER;
        move.elsewhere = true;
        move.to = {page};
        sc_core::sc_time delay;
        tla_completion done{};
        BOOST_CHECK_EQUAL(post_command(b.driver.out, 0, move, delay), TLA_OK);
        b.observer.as = &core;
        b.observer.read(100, 8);
        b.observer.as = nullptr;
        BOOST_CHECK_EQUAL(read_completion(b.driver.out, 0, done, delay), TLA_OK);
        sc_core::wait(delay);
        std::swap(move.pa, move.to);
        BOOST_CHECK_EQUAL(b.driver.command(0, move).status, TLA_OK);
        std::swap(move.pa, move.to);
        BOOST_CHECK_EQUAL(b.driver.command(0, move).status, TLA_OK);
    });
}

BOOST_AUTO_TEST_CASE(a_move_that_an_mmu_rejects_leaves_the_block_where_it_was) {
    pe_mmu::config without = mmu_config();
    without.pauses = false;
    bench b(controller_config(TLA_MOVE_STOP), 2, without);
    b.run([&] {
        const std::uint64_t pa = b.alloc(page);
        b.map(pa, page);
        b.cpus[0]->write(va, pattern(64));
        BOOST_CHECK_EQUAL(b.move(pa, TLA_TCM).status, TLA_UNSUPPORTED);
        BOOST_CHECK(b.cpus[1]->read(va, 64) == pattern(64));
        BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_TCM).arena.used, 0u);
        BOOST_CHECK_EQUAL(b.driver.command(0, free_command(pa, page)).status, TLA_OK);
    });
    BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_HBM).moved_blocks, 0u);
}

BOOST_AUTO_TEST_CASE(a_block_that_is_unmapped_while_it_moves_stays_and_can_be_freed) {
    bench b(TLA_MOVE_CONCURRENT);
    b.run([&] {
        const std::uint64_t pa = b.alloc(64 * 1024);
        b.map(pa, 64 * 1024);
        const tla_command unmap = map_command(TLA_TARGET_VA_MANAGER, TLA_OP_UNMAP, {{va, pa, 64 * 1024}}, {1, 1, ~0u});
        sc_core::sc_time delay;
        b.mapper.post(0, unmap, delay);
        BOOST_CHECK_EQUAL(b.move(pa, TLA_HBM).status, TLA_UNMAPPED); // of REMAP
        BOOST_CHECK_EQUAL(b.driver.command(0, free_command(pa, 64 * 1024)).status, TLA_OK);
        BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_HBM).arena.used, 0u);
    });
}

BOOST_AUTO_TEST_CASE(pointers_to_a_memory_are_refused_while_a_block_moves_there) {
    bench b(TLA_MOVE_CONCURRENT);
    b.run([&] {
        const std::uint64_t pa = b.alloc(64 * 1024);
        b.map(pa, 64 * 1024);
        BOOST_CHECK(b.observer.pointer_to(pa));
        tla_command move{};
        move.opcode = TLA_OP_MOVE;
        move.target = TLA_TARGET_MEMORY_CONTROLLER;
        move.pa = {pa};
        sc_core::sc_time delay;
        b.driver.post(0, move, delay);
        sc_core::wait(delay + sc_core::sc_time(1, sc_core::SC_NS));
        BOOST_CHECK(!b.observer.lost.empty());
        BOOST_CHECK(!b.observer.pointer_to(pa));
        b.observer.lost.clear();
        BOOST_CHECK_EQUAL(b.driver.completion(0, delay).status, TLA_OK);
        sc_core::wait(delay);
        BOOST_CHECK(!b.observer.lost.empty()); // may ask again
        BOOST_CHECK(b.observer.pointer_to(64 * 1024));
    });
}

namespace {

// One debug write by an MMU, later in every move.
void check_debug_writes(tla_move_mode mode) {
    constexpr std::uint64_t nbytes = 2 * 1024;
    bench b(mode, 2);
    b.run([&] {
        std::uint64_t pa = b.alloc(nbytes);
        b.map(pa, nbytes);
        bytes truth(nbytes);
        b.cpus[0]->debug(tlm::TLM_WRITE_COMMAND, va, truth);
        for (unsigned n = 0; n < 100; n++) {
            tla_command move{};
            move.opcode = TLA_OP_MOVE;
            move.target = TLA_TARGET_MEMORY_CONTROLLER;
            move.pa = {pa};
            move.memory = n % 2 ? TLA_HBM : TLA_TCM;
            sc_core::sc_time delay;
            b.driver.post(0, move, delay);
            sc_core::wait(delay + sc_core::sc_time(11 * n, sc_core::SC_NS));
            bytes written(8, static_cast<std::uint8_t>(n + 1));
            const std::uint64_t at = 8 * (n * 37 % (nbytes / 8));
            b.cpus[n / 2 % 2]->debug(tlm::TLM_WRITE_COMMAND, va + at, written);
            std::copy(written.begin(), written.end(), truth.begin() + static_cast<std::ptrdiff_t>(at));
            const tla_completion done = b.driver.completion(0, delay);
            sc_core::wait(delay);
            BOOST_REQUIRE_EQUAL(done.status, TLA_OK);
            pa = done.value;
            for (const auto &cpu : b.cpus) {
                bytes found(nbytes);
                cpu->debug(tlm::TLM_READ_COMMAND, va, found);
                BOOST_REQUIRE_MESSAGE(found == truth, "after " << 11 * n << " ns");
            }
        }
    });
}

} // namespace

BOOST_AUTO_TEST_CASE(no_debug_write_is_lost_while_a_block_stops_to_move) {
    check_debug_writes(TLA_MOVE_STOP);
}

BOOST_AUTO_TEST_CASE(no_debug_write_is_lost_while_a_block_moves_concurrently) {
    check_debug_writes(TLA_MOVE_CONCURRENT);
}

namespace {

// A reset that begins some time after a MOVE was sent.
void check_reset(tla_move_mode mode, double after_ns) {
    bench b(mode, 2);
    sc_core::sc_signal<bool> reset{"reset"};
    b.controller.reset_in.bind(reset);
    b.run([&] {
        const std::uint64_t pa = b.alloc(64 * 1024);
        b.map(pa, 64 * 1024);
        tla_command move{};
        move.opcode = TLA_OP_MOVE;
        move.target = TLA_TARGET_MEMORY_CONTROLLER;
        move.pa = {pa};
        sc_core::sc_time delay;
        b.driver.post(0, move, delay);
        sc_core::wait(after_ns, sc_core::SC_NS);
        reset.write(true);
        sc_core::wait(20, sc_core::SC_US);
        reset.write(false);
        sc_core::wait(1, sc_core::SC_US);
        b.cpus[1]->read(va, 64); // does not wait for ever
        BOOST_CHECK_EQUAL(b.controller.get_statistics(TLA_HBM).arena.used, 0u);
        BOOST_CHECK_EQUAL(b.alloc(page), 0u);
    });
}

} // namespace

BOOST_AUTO_TEST_CASE(a_reset_while_the_mmus_pause_resumes_them) {
    check_reset(TLA_MOVE_STOP, 320);
}

BOOST_AUTO_TEST_CASE(a_reset_while_a_paused_block_is_copied_resumes_the_mmus) {
    check_reset(TLA_MOVE_STOP, 500);
}

BOOST_AUTO_TEST_CASE(a_reset_while_a_block_is_copied_ends_its_move) {
    check_reset(TLA_MOVE_CONCURRENT, 400);
}

// --- PEs that use a block while it moves -----------------------------------------------------------------------------

namespace {

void check_bytes_while_moving(tla_move_mode mode, unsigned pes, unsigned seed) {
    constexpr std::uint64_t block = 8 * 1024;
    memory_controller::config config = controller_config(mode);
    config.move_buffers = 2;
    config.move.chunk = 512;
    config.cost = {};
    pe_mmu::config of_mmus = mmu_config();
    of_mmus.walk = TLA_WALK_FLAT;
    of_mmus.tlb_l1.entries = 2;
    bench b(config, pes, of_mmus);
    bytes truth(block);
    bool mapped = false, over = false;
    unsigned accesses = 0, wrong = 0;
    for (unsigned i = 0; i < pes; i++)
        b.cpus[i]->body = [&, i] {
            std::mt19937 generator(seed + i);
            const auto random = [&generator] { return static_cast<unsigned>(generator()); };
            while (!mapped)
                sc_core::wait(1, sc_core::SC_US);
            while (!over) {
                const std::uint64_t at = random() % (block / (8 * pes)) * 8 * pes + 8 * i; // bytes of its own
                const auto place = truth.begin() + static_cast<std::ptrdiff_t>(at);
                if (random() % 2) {
                    const bytes data = pattern(8, random() % 1000);
                    b.cpus[i]->write(va + at, data);
                    std::copy(data.begin(), data.end(), place);
                } else {
                    const bytes data = b.cpus[i]->read(va + at, 8);
                    wrong += !std::equal(data.begin(), data.end(), place);
                }
                accesses++;
                sc_core::wait(1 + random() % 200, sc_core::SC_NS);
            }
        };
    b.run([&] {
        std::uint64_t pa = b.alloc(block);
        b.map(pa, block);
        mapped = true;
        for (unsigned n = 0; n < 30; n++) {
            sc_core::wait(3, sc_core::SC_US);
            const tla_completion done = b.move(pa, n % 3 ? TLA_HBM : TLA_TCM);
            BOOST_REQUIRE_EQUAL(done.status, TLA_OK);
            bytes poison(block, 0xdd); // of the old place, which is somebody else's now
            b.observer.debug(tlm::TLM_WRITE_COMMAND, pa, poison);
            pa = done.value;
        }
        over = true;
    });
    BOOST_CHECK_EQUAL(wrong, 0u);
    BOOST_CHECK_GT(accesses, 200u);
    std::uint64_t waited = 0;
    for (const auto &mmu : b.mmus)
        waited += mmu->get_statistics().paused;
    BOOST_CHECK_GT(waited, 5u);
}

} // namespace

BOOST_AUTO_TEST_CASE(two_pes_find_their_bytes_in_a_block_that_stops_to_move) {
    check_bytes_while_moving(TLA_MOVE_STOP, 2, 1);
}

BOOST_AUTO_TEST_CASE(four_pes_find_their_bytes_in_a_block_that_moves_concurrently) {
    check_bytes_while_moving(TLA_MOVE_CONCURRENT, 4, 2);
}

BOOST_AUTO_TEST_CASE(eight_pes_find_their_bytes_in_a_block_that_moves_concurrently) {
    check_bytes_while_moving(TLA_MOVE_CONCURRENT, 8, 3);
}
