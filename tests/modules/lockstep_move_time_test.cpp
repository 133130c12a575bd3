// The time of a single move of a block in all slices of an owner: modules on a fabric that takes no time.
#include "bare.hpp"
#include "test_initiator.hpp"
#include "tlmalloc/modules/host.hpp"
#include "tlmalloc/modules/interconnect.hpp"
#include "tlmalloc/modules/va_manager.hpp"

#include <memory>

namespace {

using namespace tlmalloc;
using namespace test_initiator;

constexpr std::uint64_t page = 4096, hbm_bytes = 1 << 20, chunk = 1024, part = 5000;
constexpr std::uint64_t overhead = 1'100, alloc_price = 300'000, free_price = 500'000; // of the owner
constexpr std::uint64_t slice_price = 3'000, mmu_price = 5'300;
constexpr std::uint64_t command_price = overhead + mmu_price; // of PAUSE, REMAP, RESUME: through the owner to the MMUs

std::uint64_t now_ps() {
    return to_ps(sc_core::sc_time_stamp());
}

enum class block { owner, addresses, tables, controller, mmu };

std::uint64_t window_of(block of, unsigned pe = 0) {
    tla_paddr pa{};
    switch (of) {
    case block::owner:
        tla_paddr_m_cpu_control(0, 0, 0, &pa);
        break;
    case block::addresses:
        tla_paddr_va_manager_control(0, &pa);
        break;
    case block::tables:
        tla_paddr_host_control(0, &pa);
        break;
    case block::controller:
        tla_paddr_pe_control(0, 0, pe, TLA_CONTROL_MEMORY_CONTROLLER, 0, &pa);
        break;
    case block::mmu:
        tla_paddr_pe_control(0, 0, pe, TLA_CONTROL_PE_MMU, 0, &pa);
        break;
    }
    return pa.value;
}

std::uint64_t port_of(block of, unsigned port, unsigned pe = 0) {
    return window_of(of, pe) + std::uint64_t{port} * TLA_PORT_BYTES;
}

host::config host_config(unsigned pes) {
    host::config c = bare<host>();
    for (unsigned pe = 0; pe < pes; pe++)
        c.pes.push_back({0, 0, pe});
    c.page_size = page;
    c.lockstep = TLA_LOCKSTEP_CUBE;
    c.hbm_slice = hbm_bytes;
    c.moves = true;
    return c;
}

va_manager::config addresses_config() {
    va_manager::config c = bare<va_manager>();
    c.space.page_size = page;
    c.space.base = {page};
    c.route_target = TLA_TARGET_M_CPU;
    c.routes.push_back({port_of(block::owner, 1), {1, 1, ~0u}});
    c.routes.push_back({port_of(block::tables, 1), {~0u, ~0u, ~0u}, true});
    return c;
}

memory_controller::config controller_config(unsigned pe) {
    memory_controller::config c = bare<memory_controller>();
    c.memory.pe = pe;
    c.memory.of[TLA_HBM].bytes = hbm_bytes;
    c.memory.of[TLA_TCM] = {};
    c.memory.validate = true;
    c.owner_port = 1;
    c.cost.fixed_ps = slice_price;
    c.move = {TLA_MOVE_STOP, chunk, 1};
    c.move_buffers = 1;
    c.maps_port = port_of(block::addresses, 2 + pe);
    c.maps_target = TLA_TARGET_VA_MANAGER;
    return c;
}

command_processor::config owner_config(unsigned pes) {
    command_processor::config c = bare<command_processor>();
    c.overhead_ps = overhead;
    c.cost.alloc_ps = alloc_price;
    c.cost.free_ps = free_price;
    c.list.bank_bytes = hbm_bytes;
    for (unsigned pe = 0; pe < pes; pe++) {
        tla_paddr base{};
        const tla_pe_memory_config memory = controller_config(pe).memory;
        tla_pe_memory_address(&memory, TLA_HBM, 0, &base);
        c.routes.push_back({port_of(block::mmu, 1, pe), {1, 1, 1u << pe}});
        c.slices.push_back({port_of(block::controller, 1, pe), base, {TLA_LOCATION_PE, 0, 0, pe}});
    }
    return c;
}

hbm_slice::config slice_config() {
    hbm_slice::config c = bare<hbm_slice>();
    c.capacity = hbm_bytes;
    return c;
}

pe_mmu::config mmu_config() {
    pe_mmu::config c = bare<pe_mmu>();
    c.page_size = page;
    c.pauses = true;
    c.cost.fixed_ps = mmu_price;
    return c;
}

struct pe_parts {
    explicit pe_parts(unsigned pe)
        : slice(("slice" + std::to_string(pe)).c_str(), slice_config()),
          controller(("controller" + std::to_string(pe)).c_str(), controller_config(pe)),
          mmu(("mmu" + std::to_string(pe)).c_str(), mmu_config()), cpu(("cpu" + std::to_string(pe)).c_str()) {
        controller.slice.bind(slice.in);
        cpu.out.bind(mmu.in);
    }
    hbm_slice slice;
    memory_controller controller;
    pe_mmu mmu;
    initiator cpu;
};

// One cube. All modules hang on one node of the fabric.
struct bench {
    explicit bench(unsigned count)
        : h("host", host_config(count)), addresses("addresses", addresses_config()),
          owner("owner", owner_config(count)), fabric("fabric", fabric_config(count)) {
        h.va.bind(addresses.control);
        h.out.bind(fabric.in);
        addresses.out.bind(fabric.in);
        owner.out.bind(fabric.in);
        fabric.out.bind(addresses.control);
        fabric.out.bind(*h.tables());
        fabric.out.bind(owner.control);
        for (unsigned pe = 0; pe < count; pe++) {
            pes.push_back(std::make_unique<pe_parts>(pe));
            pe_parts &p = *pes.back();
            p.mmu.out.bind(fabric.in);
            p.controller.maps.bind(fabric.in);
            fabric.out.bind(p.controller.in);
            fabric.out.bind(p.controller.control);
            fabric.out.bind(p.mmu.control);
        }
    }
    static interconnect::config fabric_config(unsigned count) {
        interconnect::config c = bare<interconnect>();
        const auto add = [&c](std::uint64_t base, std::uint64_t nbytes, bool relative) {
            c.windows.push_back({base, nbytes, static_cast<unsigned>(c.targets.size()), relative});
            c.targets.push_back(0);
        };
        c.nodes.resize(1);
        c.sources.assign(3 + 2 * count, 0);
        add(window_of(block::addresses), TLA_VA_MANAGER_CONTROL_BYTES, true);
        add(window_of(block::tables), TLA_CONTROL_BLOCK_BYTES, true);
        add(window_of(block::owner), TLA_CONTROL_BLOCK_BYTES, true);
        for (unsigned pe = 0; pe < count; pe++) {
            add(owner_config(count).slices[pe].base.value, hbm_bytes, false);
            add(window_of(block::controller, pe), TLA_CONTROL_BLOCK_BYTES, true);
            add(window_of(block::mmu, pe), TLA_CONTROL_BLOCK_BYTES, true);
        }
        return c;
    }
    void run(std::function<void()> body) {
        bool finished = false;
        h.main = [&] {
            body();
            BOOST_CHECK_MESSAGE(!h.cleanup(&error), error.text);
            finished = true;
        };
        sc_core::sc_report_handler::set_handler(keep_report);
        sc_core::sc_start();
        BOOST_CHECK(finished);
    }

    host h;
    va_manager addresses;
    command_processor owner;
    interconnect fabric;
    std::vector<std::unique_ptr<pe_parts>> pes;
    tla_error error{};
};

std::uint64_t time_of(const std::function<void()> &body) {
    const std::uint64_t begin_ps = now_ps();
    body();
    return now_ps() - begin_ps;
}

// The owner takes a place in its list and has all slices PLACE a block there, at once. Every slice then begins its
// move, at once, for the price of the exchange, which is less than that of a RESUME. The VA manager sends the moves'
// commands to the MMUs one after the other, and the copies of a slice follow its PAUSE. If they take longer than all
// PAUSEs, the first slice that has copied keeps the VA manager busy from then on: a REMAP and a RESUME of each slice.
// At last the owner has all slices FREE the old place, and puts it on its list.
void check_closed_form(unsigned count) {
    bench b(count);
    b.run([&] {
        tensor *t = nullptr;
        BOOST_REQUIRE_MESSAGE(!b.h.create_tensor("t", count * part, 1, b.h.everywhere(), &t, &b.error), b.error.text);
        const bytes data = pattern(count * part);
        b.h.write_tensor(*t, data.data(), &b.error);
        sc_core::wait(1, sc_core::SC_US);
        std::uint64_t copies_ps = 0; // of one slice, there and back alike
        for (const std::uint64_t length : {chunk, chunk, chunk, chunk, part - 4 * chunk}) {
            copies_ps += time_of([&] { b.pes[0]->cpu.read(t->va.value, length); });
            copies_ps += time_of([&] { b.pes[0]->cpu.write(t->va.value, bytes(length)); });
        }
        BOOST_REQUIRE_GT(copies_ps, count * command_price);
        b.h.write_tensor(*t, data.data(), &b.error);
        sc_core::wait(1, sc_core::SC_US);
        tla_completion done{};
        const std::uint64_t took_ps =
            time_of([&] { BOOST_CHECK_MESSAGE(!b.h.move(t, 0, TLA_HBM, &b.error, &done), b.error.text); });
        const std::uint64_t allocated_ps = overhead + alloc_price + slice_price;
        const std::uint64_t moved_ps = slice_price + command_price + copies_ps + 2 * count * command_price;
        const std::uint64_t freed_ps = overhead + slice_price + free_price;
        BOOST_CHECK_EQUAL(took_ps, allocated_ps + moved_ps + freed_ps);
        for (const shard &s : t->shards)
            BOOST_CHECK_EQUAL(s.pa.value, owner_config(count).slices[s.where.pe].base.value + part);
        for (const auto &pe : b.pes)
            BOOST_CHECK_EQUAL(pe->controller.get_statistics(TLA_HBM).arena.used, part);
        bytes back(data.size());
        b.h.read_tensor(*t, back.data(), &b.error);
        BOOST_CHECK(back == data);
    });
    BOOST_CHECK(reports().empty());
}

} // namespace

BOOST_AUTO_TEST_CASE(a_single_move_in_one_slice_of_an_owner_takes_its_closed_form) {
    check_closed_form(1);
}

BOOST_AUTO_TEST_CASE(a_single_move_in_three_slices_of_an_owner_takes_its_closed_form) {
    check_closed_form(3);
}
