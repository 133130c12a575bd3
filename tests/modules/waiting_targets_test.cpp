// What lies behind a module may wait in b_transport: the operations that call it are done one after the other, each
// whole, whatever comes in meanwhile.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "bare.hpp"
#include "slow_lane.hpp"
#include "test_initiator.hpp"
#include "tlmalloc/modules/command_processor.hpp"
#include "tlmalloc/modules/hbm_slice.hpp"
#include "tlmalloc/modules/host.hpp"
#include "tlmalloc/modules/interconnect.hpp"
#include "tlmalloc/modules/memory_controller.hpp"
#include "tlmalloc/modules/pe_dma.hpp"
#include "tlmalloc/modules/pe_mmu.hpp"
#include "tlmalloc/modules/tcm.hpp"
#include "tlmalloc/modules/va_manager.hpp"

#include <map>
#include <random>

using namespace tlmalloc;
using namespace test_initiator;

namespace {

const std::uint64_t slice_bytes = 1 << 20, list_bytes = 16 << 10;

memory_controller::config listed() {
    memory_controller::config config = bare<memory_controller>();
    config.memory = {0, 0, 0, {{slice_bytes}, {0}}};
    config.free_list = TLA_LIST_HBM;
    config.list_reserve = list_bytes;
    config.cost.fixed_ps = 10'000;
    return config;
}

hbm_slice::config slice_of(std::uint64_t capacity) {
    hbm_slice::config config = bare<hbm_slice>();
    config.capacity = capacity;
    return config;
}

// One sender of commands: allocates, writes what is its own, reads it back, frees; blocks of two senders never overlap.
class tenant {
  public:
    tenant(initiator &cpu, initiator &data, unsigned port, unsigned seed, std::map<std::uint64_t, std::uint64_t> &live)
        : cpu_(cpu), data_(data), port_(port * std::uint64_t{TLA_PORT_BYTES}), random_(seed), live_(live) {}

    void run(int rounds) {
        for (int i = 0; i < rounds; i++) {
            if (mine_.empty() || random_() % 3 != 0)
                allocate();
            else
                release(random_() % mine_.size());
            if (random_() % 4 == 0) sc_core::wait(from_ps(random_() % 30'000));
        }
        while (!mine_.empty())
            release(0);
    }

  private:
    struct block {
        std::uint64_t pa;
        bytes content;
    };

    void allocate() {
        const bytes content = pattern(1 + random_() % 3000, static_cast<unsigned>(random_()));
        const tla_completion answer = cpu_.command(port_, alloc_command(TLA_HBM, content.size()));
        BOOST_REQUIRE_EQUAL(answer.status, TLA_OK);
        const auto next = live_.lower_bound(answer.value);
        BOOST_REQUIRE(next == live_.end() || answer.value + content.size() <= next->first);
        BOOST_REQUIRE(next == live_.begin() || std::prev(next)->second <= answer.value);
        live_[answer.value] = answer.value + content.size();
        mine_.push_back({answer.value, content});
        data_.write(answer.value, content);
    }

    void release(std::size_t which) {
        const block b = mine_[which];
        BOOST_REQUIRE(data_.read(b.pa, b.content.size()) == b.content);
        live_.erase(b.pa);
        mine_.erase(mine_.begin() + static_cast<long>(which));
        BOOST_REQUIRE_EQUAL(cpu_.command(port_, free_command(b.pa, b.content.size())).status, TLA_OK);
    }

    initiator &cpu_, &data_;
    std::uint64_t port_;
    std::mt19937 random_;
    std::map<std::uint64_t, std::uint64_t> &live_;
    std::vector<block> mine_;
};

} // namespace

// --- memory_controller -----------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(commands_of_three_senders_walk_a_list_behind_a_memory_that_waits_one_after_the_other) {
    memory_controller controller("controller", listed());
    hbm_slice slice("slice", slice_of(slice_bytes));
    slow_lane lane("lane");
    controller.slice.bind(lane.in);
    lane.out.bind(slice.in);
    std::map<std::uint64_t, std::uint64_t> live;
    initiator cpu0("cpu0"), cpu1("cpu1"), cpu2("cpu2"), data0("data0"), data1("data1"), data2("data2");
    initiator *cpus[] = {&cpu0, &cpu1, &cpu2}, *datas[] = {&data0, &data1, &data2};
    for (unsigned i = 0; i < 3; i++) {
        cpus[i]->out.bind(controller.control);
        datas[i]->out.bind(controller.in);
        cpus[i]->body = [&, i] { tenant(*cpus[i], *datas[i], i, 40 + i, live).run(60); };
    }
    simulate({&cpu0, &cpu1, &cpu2, &data0, &data1, &data2});
    const memory_controller::statistics s = controller.get_statistics(TLA_HBM);
    BOOST_CHECK_EQUAL(s.list_errors, 0u);
    BOOST_CHECK_GT(s.list_reads, 300u);
    BOOST_CHECK_EQUAL(slice.get_statistics().reads + slice.get_statistics().writes, lane.calls);
    BOOST_CHECK_GT(lane.most_under_way, 1u); // data goes past the commands
    BOOST_CHECK_GE(s.busy_ps, s.list_ps);
    BOOST_CHECK(controller.is_as_at_the_beginning(TLA_HBM));
    BOOST_CHECK(reports().empty());
}

// A memory that waits and one that annotates the same time are the same memory to a sender that is alone.
BOOST_AUTO_TEST_CASE(a_walk_through_a_memory_that_waits_takes_what_it_takes_through_one_that_annotates) {
    std::vector<std::uint64_t> services[2];
    memory_controller waiting("waiting", listed()), annotating("annotating", listed());
    hbm_slice slice0("slice0", slice_of(slice_bytes)), slice1("slice1", slice_of(slice_bytes));
    slow_lane lane("lane");
    lane.before = lane.after = sc_core::SC_ZERO_TIME;
    waiting.slice.bind(lane.in);
    lane.out.bind(slice0.in);
    annotating.slice.bind(slice1.in);
    initiator cpu0("cpu0"), cpu1("cpu1"), data0("data0"), data1("data1");
    initiator *cpus[] = {&cpu0, &cpu1};
    cpu0.out.bind(waiting.control);
    cpu1.out.bind(annotating.control);
    data0.out.bind(waiting.in);
    data1.out.bind(annotating.in);
    for (unsigned i = 0; i < 2; i++)
        cpus[i]->body = [&, i] {
            std::vector<std::uint64_t> blocks;
            for (int n = 0; n < 12; n++)
                blocks.push_back(cpus[i]->command(0, alloc_command(TLA_HBM, 700)).value);
            for (std::size_t n = 0; n < blocks.size(); n += 2)
                services[i].push_back(cpus[i]->command(0, free_command(blocks[n], 700)).service_ps);
            for (int n = 0; n < 4; n++)
                services[i].push_back(cpus[i]->command(0, alloc_command(TLA_HBM, 800)).service_ps);
            services[i].push_back(to_ps(sc_core::sc_time_stamp()));
        };
    simulate({&cpu0, &cpu1});
    BOOST_CHECK_EQUAL_COLLECTIONS(services[0].begin(), services[0].end(), services[1].begin(), services[1].end());
}

BOOST_AUTO_TEST_CASE(a_nested_command_from_a_memory_is_rejected_without_waiting) {
    memory_controller controller("controller", listed());
    hbm_slice slice("slice", slice_of(slice_bytes));
    slow_lane lane("lane");
    controller.slice.bind(lane.in);
    lane.out.bind(slice.in);
    initiator cpu("cpu"), data("data"), nested("nested");
    cpu.out.bind(controller.control);
    data.out.bind(controller.in);
    nested.out.bind(controller.control);
    unsigned refused = 0;
    lane.inside = [&](tlm::tlm_generic_payload &) {
        sc_core::sc_time delay;
        refused += nested.post(TLA_PORT_BYTES, alloc_command(TLA_HBM, 8), delay) == tlm::TLM_GENERIC_ERROR_RESPONSE;
        BOOST_CHECK_EQUAL(nested.completion(TLA_PORT_BYTES, delay).status, TLA_BUSY);
    };
    cpu.body = [&] { BOOST_CHECK_EQUAL(cpu.command(0, alloc_command(TLA_HBM, 8)).status, TLA_OK); };
    simulate({&cpu, &data, &nested});
    BOOST_CHECK_GT(refused, 0u);
    BOOST_CHECK_EQUAL(reports().size(), refused);
    BOOST_CHECK_EQUAL(
        reports().at(0),
        "/tlmalloc/memory_controller/control: port 1: nested command: the previous command is still executing");
    BOOST_CHECK_EQUAL(controller.get_statistics(TLA_HBM).arena.used, 8u);
}

// --- pe_mmu ----------------------------------------------------------------------------------------------------------

namespace {

const std::uint64_t page = 4096;

std::uint64_t hbm_at(std::uint64_t offset, unsigned pe = 0, std::uint64_t nbytes = 64 << 20) {
    tla_paddr pa{};
    BOOST_REQUIRE_EQUAL(tla_paddr_pe_hbm(0, 0, pe, offset, nbytes, &pa), TLA_OK);
    return pa.value;
}

// An MMU whose tables, entries and data lie behind lanes that wait: two senders of commands, any number of threads that
// access.
struct walking_bench {
    walking_bench() {
        mmu.out.bind(data_lane.in);
        mmu.walk.bind(walk_lane.in);
        mmu.allocator.bind(allocator_lane.in);
        data_lane.out.bind(controller.in);
        walk_lane.out.bind(controller.in);
        allocator_lane.out.bind(controller.control);
        controller.slice.bind(slice.in);
        cpu.out.bind(mmu.in);
        for (initiator *driver : {&driver0, &driver1})
            driver->out.bind(mmu.control);
        memory.out.bind(controller.in);
    }
    void run() { simulate({&cpu, &driver0, &driver1, &memory}); }

    static pe_mmu::config mmu_config() {
        pe_mmu::config config = bare<pe_mmu>();
        config.page_size = page;
        config.va_bits = 48;
        config.walk = TLA_WALK_MEMORY;
        config.tlb_l1 = {4, 0, 1000, TLA_REPLACE_LRU};
        config.tlb_l2 = {};
        config.allocator_port = 1;
        config.walkers.walk_cache_entries = 4;
        return config;
    }
    static memory_controller::config controller_config() {
        memory_controller::config config = bare<memory_controller>();
        config.memory = {0, 0, 0, {{64 << 20}, {0}}};
        return config;
    }

    hbm_slice slice{"slice", slice_of(64 << 20)};
    memory_controller controller{"controller", controller_config()};
    slow_lane data_lane{"data_lane"}, walk_lane{"walk_lane"}, allocator_lane{"allocator_lane"};
    pe_mmu mmu{"mmu", mmu_config()};
    initiator cpu{"cpu"}, driver0{"driver0"}, driver1{"driver1"}, memory{"memory"};
};

} // namespace

BOOST_AUTO_TEST_CASE(two_senders_map_and_two_threads_walk_through_tables_behind_a_memory_that_waits) {
    walking_bench b;
    const std::uint64_t data_from = 32 << 20; // far behind the tables
    unsigned done = 0, reads = 0, debugged = 0;
    // A sender's half of the address space: page n of it maps to page n of its half of the memory, or to nothing.
    std::vector<bool> mapped[2]{std::vector<bool>(64), std::vector<bool>(64)};
    const auto va_of = [](unsigned who, unsigned n) { return (std::uint64_t{who} << 40) + n * 37 * page; };
    const auto pa_of = [&](unsigned who, unsigned n) { return hbm_at(data_from + (who * 64 + n) * page); };
    const auto drive = [&](initiator &driver, unsigned who) {
        std::mt19937 random(who + 5);
        for (int i = 0; i < 150; i++) {
            const unsigned n = random() % 64;
            const bool was = mapped[who][n];
            mapped[who][n] = false; // nobody touches it meanwhile
            BOOST_REQUIRE_EQUAL(driver
                                    .command(who * std::uint64_t{TLA_PORT_BYTES},
                                             map_command(TLA_TARGET_PE_MMU, was ? TLA_OP_UNMAP : TLA_OP_MAP,
                                                         {{va_of(who, n), was ? 0 : pa_of(who, n), page}}))
                                    .status,
                                TLA_OK);
            mapped[who][n] = !was;
        }
        done++;
    };
    const auto touch = [&](unsigned who) {
        std::mt19937 random(who + 50);
        std::vector<std::uint8_t> last(64);
        while (done < 2) {
            const unsigned n = random() % 64;
            if (!mapped[who][n]) {
                sc_core::wait(5, sc_core::SC_NS);
                continue;
            }
            bytes data(8, static_cast<std::uint8_t>(1 + random() % 200));
            sc_core::sc_time delay;
            const bool write = random() % 2;
            const tlm::tlm_response_status status =
                write ? b.cpu.write(va_of(who, n) + 16, data, delay) : b.cpu.read(va_of(who, n) + 16, data, delay);
            // what is unmapped while the access waits may be gone
            if (status != tlm::TLM_OK_RESPONSE) BOOST_REQUIRE_EQUAL(status, tlm::TLM_ADDRESS_ERROR_RESPONSE);
            if (status == tlm::TLM_OK_RESPONSE && write) last[n] = data[0];
            if (status == tlm::TLM_OK_RESPONSE && !write) BOOST_REQUIRE(data == bytes(8, last[n]));
            reads += !write;
            sc_core::wait(delay);
        }
    };
    b.driver0.body = [&] { drive(b.driver0, 0); };
    b.driver1.body = [&] { drive(b.driver1, 1); };
    b.cpu.body = [&] {
        sc_core::sc_spawn([&] { touch(1); });
        touch(0);
    };
    b.memory.body = [&] { // a debugger: nothing, or what is there
        for (unsigned n = 0;; n = (n + 1) % 64) {
            if (done == 2) return;
            sc_core::wait(17, sc_core::SC_NS);
            bytes seen(8), there(8);
            if (!mapped[0][n] || b.cpu.debug(tlm::TLM_READ_COMMAND, va_of(0, n) + 16, seen) == 0) continue;
            b.memory.debug(tlm::TLM_READ_COMMAND, pa_of(0, n) + 16, there);
            BOOST_REQUIRE(seen == there);
            debugged++;
        }
    };
    b.run();
    const pe_mmu::statistics s = b.mmu.get_statistics();
    BOOST_CHECK_EQUAL(s.walk_errors, 0u);
    BOOST_CHECK_EQUAL(s.failed, 0u);
    BOOST_CHECK_GT(s.walkers.walks, 50u);
    BOOST_CHECK_GT(reads, 50u);
    BOOST_CHECK_GT(debugged, 50u);
    BOOST_CHECK_EQUAL(b.allocator_lane.most_under_way, 1u);
    BOOST_CHECK_GT(b.walk_lane.most_under_way, 1u);
    BOOST_CHECK_LE(b.walk_lane.most_under_way, 3u); // a read for each thread, and one access for the commands
    std::uint64_t pages = 0;
    for (const auto &half : mapped)
        pages += static_cast<std::uint64_t>(std::count(half.begin(), half.end(), true));
    BOOST_CHECK_EQUAL(s.table.mapped_bytes, pages * page);
    BOOST_CHECK_EQUAL(s.table.table_bytes, b.controller.get_statistics(TLA_HBM).arena.used);
}

BOOST_AUTO_TEST_CASE(dmi_that_was_declined_for_a_waiting_command_is_withdrawn_after_the_command) {
    walking_bench b;
    struct listener : sc_core::sc_module {
        tlm_utils::simple_initiator_socket<listener> out{"out"};
        std::vector<std::pair<std::uint64_t, std::uint64_t>> withdrawn;
        explicit listener(sc_core::sc_module_name name) : sc_module(name) {
            out.register_invalidate_direct_mem_ptr(this, &listener::invalidate);
        }
        void invalidate(sc_dt::uint64 first, sc_dt::uint64 last) { withdrawn.emplace_back(first, last); }
    };
    pe_mmu mmu("other", walking_bench::mmu_config());
    listener listening("listening");
    initiator driver("driver");
    slow_lane walk_lane("other_walk"), allocator_lane("other_allocator");
    listening.out.bind(mmu.in);
    mmu.out.bind(b.controller.in);
    mmu.walk.bind(walk_lane.in);
    mmu.allocator.bind(allocator_lane.in);
    walk_lane.out.bind(b.controller.in);
    allocator_lane.out.bind(b.controller.control);
    driver.out.bind(mmu.control);
    bool in_the_middle = false;
    const auto ask = [&](std::uint64_t va) {
        tlm::tlm_generic_payload payload;
        tlm::tlm_dmi dmi;
        payload.set_read();
        payload.set_address(va);
        return listening.out->get_direct_mem_ptr(payload, dmi);
    };
    driver.body = [&] {
        const auto map = [&](std::uint64_t va, std::uint64_t offset) {
            return driver.command(0, map_command(TLA_TARGET_PE_MMU, TLA_OP_MAP, {{va, hbm_at(offset), page}})).status;
        };
        BOOST_CHECK_EQUAL(map(0, 32 << 20), TLA_OK);
        sc_core::wait(1, sc_core::SC_US);
        BOOST_CHECK(ask(8));
        allocator_lane.inside = [&](tlm::tlm_generic_payload &) {
            in_the_middle = true;
            BOOST_CHECK(ask(8));                             // its page does not change
            BOOST_CHECK(!ask((std::uint64_t{1} << 40) + 8)); // this one does
        };
        BOOST_CHECK_EQUAL(map(std::uint64_t{1} << 40, 33 << 20), TLA_OK);
        BOOST_CHECK(in_the_middle);
        sc_core::wait(1, sc_core::SC_US);
        const std::uint64_t refused = (std::uint64_t{1} << 40) + 8;
        BOOST_CHECK(std::any_of(listening.withdrawn.begin(), listening.withdrawn.end(),
                                [&](const auto &range) { return range.first <= refused && refused <= range.second; }));
        BOOST_CHECK(ask(refused));
    };
    simulate({&driver});
}

// A memory that takes its pointers back in the middle of an access, and of a request for one.
BOOST_AUTO_TEST_CASE(pointers_that_are_withdrawn_from_within_are_withdrawn_everywhere_and_may_be_asked_for_again) {
    struct holder : sc_core::sc_module {
        tlm_utils::simple_initiator_socket<holder> out{"out"};
        bool holds = false;
        unsigned withdrawn = 0;
        explicit holder(sc_core::sc_module_name name) : sc_module(name) {
            out.register_invalidate_direct_mem_ptr(this, &holder::invalidate);
        }
        void invalidate(sc_dt::uint64 first, sc_dt::uint64 last) {
            if (first <= page && page <= last) {
                withdrawn += holds;
                holds = false;
            }
        }
        void ask() {
            tlm::tlm_generic_payload payload;
            tlm::tlm_dmi dmi;
            payload.set_read();
            payload.set_address(page);
            holds = out->get_direct_mem_ptr(payload, dmi);
        }
    } kernel("kernel");
    struct jealous : sc_core::sc_module { // one pointer at a time
        tlm_utils::simple_target_socket<jealous> in{"in"};
        std::vector<unsigned char> bytes_ = std::vector<unsigned char>(slice_bytes);
        explicit jealous(sc_core::sc_module_name name) : sc_module(name) {
            in.register_b_transport(this, &jealous::b_transport);
            in.register_get_direct_mem_ptr(this, &jealous::get_direct_mem_ptr);
        }
        void b_transport(tlm::tlm_generic_payload &payload, sc_core::sc_time &) {
            in->invalidate_direct_mem_ptr(0, slice_bytes - 1);
            sc_core::wait(3, sc_core::SC_NS);
            in->invalidate_direct_mem_ptr(0, slice_bytes - 1);
            payload.set_response_status(tlm::TLM_OK_RESPONSE);
        }
        bool get_direct_mem_ptr(tlm::tlm_generic_payload &, tlm::tlm_dmi &dmi) {
            in->invalidate_direct_mem_ptr(0, slice_bytes - 1);
            dmi.set_dmi_ptr(bytes_.data());
            dmi.set_start_address(0);
            dmi.set_end_address(slice_bytes - 1);
            dmi.allow_read_write();
            return true;
        }
    } slice("slice");
    memory_controller::config config = bare<memory_controller>();
    config.memory = {0, 0, 0, {{slice_bytes}, {0}}};
    memory_controller controller("controller", config);
    pe_mmu::config mmu_config = bare<pe_mmu>();
    mmu_config.page_size = page;
    pe_mmu mmu("mmu", mmu_config);
    initiator cpu("cpu"), driver("driver"), other("other");
    controller.slice.bind(slice.in);
    other.out.bind(controller.control);
    cpu.out.bind(controller.in);
    kernel.out.bind(mmu.in);
    mmu.out.bind(controller.in);
    driver.out.bind(mmu.control);
    driver.body = [&] {
        driver.command(0, map_command(TLA_TARGET_PE_MMU, TLA_OP_MAP, {{page, hbm_at(0, 0, slice_bytes), page}}));
        for (unsigned i = 0; i < 3; i++) {
            kernel.ask();
            BOOST_CHECK(kernel.holds);
            cpu.read(hbm_at(8, 0, slice_bytes), 4);
            BOOST_CHECK(!kernel.holds);
            BOOST_CHECK_EQUAL(kernel.withdrawn, 2 * i + 1);
            kernel.ask();
            BOOST_CHECK(kernel.holds);
            tlm::tlm_generic_payload payload; // somebody else's request
            tlm::tlm_dmi dmi;
            payload.set_read();
            payload.set_address(hbm_at(0, 0, slice_bytes));
            BOOST_CHECK(cpu.out->get_direct_mem_ptr(payload, dmi));
            BOOST_CHECK(!kernel.holds);
        }
    };
    simulate({&cpu, &driver, &other});
}

// --- pe_dma ----------------------------------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(transfers_of_several_threads_through_memories_that_wait_bring_their_own_bytes) {
    pe_dma dma("dma", bare<pe_dma>());
    hbm_slice slice("slice", slice_of(slice_bytes));
    tcm::config tcm_config = bare<tcm>();
    tcm tile("tile", tcm_config);
    slow_lane lane("lane"), tile_lane("tile_lane");
    dma.out.bind(lane.in);
    lane.out.bind(slice.in);
    dma.local.bind(tile_lane.in);
    tile_lane.out.bind(tile.in);
    hbm_slice other("other", slice_of(slice_bytes));
    initiator cpu("cpu");
    cpu.out.bind(other.in);
    cpu.body = [&] {
        unsigned running = 4;
        for (unsigned i = 0; i < 4; i++) {
            bytes data = pattern(5000, i);
            tlm::tlm_generic_payload payload;
            payload.set_write();
            payload.set_address(i * 10'000);
            payload.set_data_ptr(data.data());
            payload.set_data_length(5000);
            BOOST_REQUIRE_EQUAL(dma.out->transport_dbg(payload), 5000u);
            sc_core::sc_spawn([&, i] {
                sc_core::sc_time delay;
                BOOST_CHECK_EQUAL(
                    dma.transfer({pe_dma::direction::read, {i * 10'000}, {i * 5000}, 5, 1000, 1000}, delay), TLA_OK);
                sc_core::wait(delay);
                delay = sc_core::SC_ZERO_TIME;
                BOOST_CHECK_EQUAL(
                    dma.transfer({pe_dma::direction::write, {100'000 + i * 10'000}, {i * 5000}, 1, 5000, 5000}, delay),
                    TLA_OK);
                running--;
            });
        }
        while (running > 0)
            sc_core::wait(1, sc_core::SC_US);
        for (unsigned i = 0; i < 4; i++) {
            bytes back(5000);
            tlm::tlm_generic_payload payload;
            payload.set_read();
            payload.set_address(100'000 + i * 10'000);
            payload.set_data_ptr(back.data());
            payload.set_data_length(5000);
            BOOST_REQUIRE_EQUAL(dma.out->transport_dbg(payload), 5000u);
            BOOST_CHECK(back == pattern(5000, i));
        }
    };
    simulate({&cpu});
    BOOST_CHECK_GT(lane.most_under_way, 1u);
}

// --- host, va_manager, command_processor -----------------------------------------------------------------------------

namespace {

// host -> va_manager -> command processor -> two MMUs, and two controllers, every command port behind a lane that
// waits.
struct platform {
    explicit platform(tla_map_ack ack = TLA_MAP_ACK_VISIBLE) {
        interconnect::config links = bare<interconnect>();
        links.nodes.resize(1);
        links.sources = {0, 0, 0, 0, 0};
        const auto window = [&](std::uint64_t base, std::uint64_t nbytes, bool relative) {
            links.windows.push_back({base, nbytes, static_cast<unsigned>(links.targets.size()), relative});
            links.targets.push_back(0);
        };
        va_manager::config va = bare<va_manager>();
        va.space = {{va_base}, 64 * page, page};
        va.route_target = TLA_TARGET_M_CPU;
        va.map_ack = ack;
        command_processor::config processor = bare<command_processor>();
        for (unsigned pe = 0; pe < 2; pe++) {
            window(hbm_at(0, pe, slice_bytes), slice_bytes, false);
            window(port_of(pe, TLA_CONTROL_MEMORY_CONTROLLER, 0), TLA_CONTROL_BLOCK_BYTES, true);
            window(port_of(pe, TLA_CONTROL_PE_MMU, 0), TLA_CONTROL_BLOCK_BYTES, true);
            processor.routes.push_back({port_of(pe, TLA_CONTROL_PE_MMU, 0), {~0u, ~0u, 1u << pe}});
        }
        va.routes.push_back({0, {~0u, ~0u, ~0u}});
        fabric = std::make_unique<interconnect>("fabric", links);
        addresses = std::make_unique<va_manager>("addresses", va);
        m_cpu = std::make_unique<command_processor>("m_cpu", processor);
        host::config config = bare<host>();
        config.pes = {{0, 0, 0}, {0, 0, 1}};
        config.page_size = page;
        config.fault_latency_ps = 100'000;
        runtime = std::make_unique<host>("host", config);
        runtime->va.bind(lane("va").in);
        lanes.back()->out.bind(addresses->control);
        addresses->out.bind(lane("m_cpu").in);
        lanes.back()->out.bind(m_cpu->control);
        runtime->out.bind(fabric->in);
        m_cpu->out.bind(fabric->in);
        driver.out.bind(fabric->in);
        for (unsigned pe = 0; pe < 2; pe++) {
            const std::string n = std::to_string(pe);
            slices.push_back(std::make_unique<hbm_slice>(("slice" + n).c_str(), slice_of(slice_bytes)));
            memory_controller::config c = bare<memory_controller>();
            c.memory = {0, 0, pe, {{slice_bytes}, {0}}};
            controllers.push_back(std::make_unique<memory_controller>(("controller" + n).c_str(), c));
            pe_mmu::config m = bare<pe_mmu>();
            m.page_size = page;
            m.unmapped = TLA_UNMAPPED_DEMAND;
            mmus.push_back(std::make_unique<pe_mmu>(("mmu" + n).c_str(), m));
            cpus.push_back(std::make_unique<initiator>(("cpu" + n).c_str()));
            cpus[pe]->out.bind(mmus[pe]->in);
            mmus[pe]->out.bind(fabric->in);
            mmus[pe]->fault.bind(lane("fault" + n).in);
            lanes.back()->out.bind(runtime->faults);
            controllers[pe]->slice.bind(slices[pe]->in);
            fabric->out.bind(controllers[pe]->in);
            fabric->out.bind(lane("alloc" + n).in);
            lanes.back()->out.bind(controllers[pe]->control);
            fabric->out.bind(lane("map" + n).in);
            lanes.back()->out.bind(mmus[pe]->control);
        }
    }

    static std::uint64_t port_of(unsigned pe, tla_control_block block, unsigned port) {
        tla_paddr pa{};
        BOOST_REQUIRE_EQUAL(tla_paddr_pe_control(0, 0, pe, block, port * std::uint64_t{TLA_PORT_BYTES}, &pa), TLA_OK);
        return pa.value;
    }

    slow_lane &lane(const std::string &name) {
        lanes.push_back(std::make_unique<slow_lane>((name + "_lane").c_str()));
        return *lanes.back();
    }

    void run(std::function<void()> body) {
        bool finished = false;
        runtime->main = [&] {
            body();
            BOOST_CHECK_EQUAL(runtime->cleanup(&error), TLA_OK);
            finished = true;
        };
        simulate({&driver, cpus[0].get(), cpus[1].get()});
        BOOST_CHECK(finished);
        for (unsigned pe = 0; pe < 2; pe++) {
            BOOST_CHECK_EQUAL(controllers[pe]->get_statistics(TLA_HBM).arena.used, 0u);
            BOOST_CHECK_EQUAL(mmus[pe]->get_statistics().table.mapped_bytes, 0u);
        }
        BOOST_CHECK_EQUAL(addresses->get_statistics().space.used, 0u);
    }

    static constexpr std::uint64_t va_base = std::uint64_t{4} << 30;
    std::vector<std::unique_ptr<slow_lane>> lanes;
    std::unique_ptr<interconnect> fabric;
    std::unique_ptr<va_manager> addresses;
    std::unique_ptr<command_processor> m_cpu;
    std::unique_ptr<host> runtime;
    std::vector<std::unique_ptr<hbm_slice>> slices;
    std::vector<std::unique_ptr<memory_controller>> controllers;
    std::vector<std::unique_ptr<pe_mmu>> mmus;
    std::vector<std::unique_ptr<initiator>> cpus;
    initiator driver{"driver"};
    tla_error error{};
};

} // namespace

BOOST_AUTO_TEST_CASE(a_page_that_two_pes_touch_at_once_comes_once_and_the_host_reads_it_meanwhile) {
    platform p;
    unsigned running = 2;
    tensor *made = nullptr;
    for (unsigned pe = 0; pe < 2; pe++)
        p.cpus[pe]->body = [&, pe] {
            while (!made)
                sc_core::wait(10, sc_core::SC_NS);
            const std::uint64_t va = made->va.value;
            for (unsigned n = 0; n < 20; n++) { // the same pages, each PE half of every page
                p.cpus[pe]->write(va + n * page + pe * 2048, pattern(2048, n + pe));
                sc_core::wait(7 + pe, sc_core::SC_NS);
            }
            running--;
        };
    p.run([&] {
        host::sharding where = p.runtime->everywhere();
        where.kind = spread::demand;
        BOOST_CHECK_EQUAL(p.runtime->create_tensor("t", 20 * page, 1, where, &made, &p.error), TLA_OK);
        bytes seen(20 * page);
        while (running > 0) {
            BOOST_CHECK_EQUAL(p.runtime->read_tensor(*made, seen.data(), &p.error), TLA_OK);
            sc_core::wait(30, sc_core::SC_NS);
        }
        BOOST_CHECK_EQUAL(made->shards.size(), 20u);
        BOOST_CHECK_EQUAL(p.runtime->read_tensor(*made, seen.data(), &p.error), TLA_OK);
        for (unsigned n = 0; n < 20; n++)
            for (unsigned pe = 0; pe < 2; pe++) {
                const auto from = seen.begin() + n * static_cast<long>(page) + pe * 2048;
                BOOST_CHECK(bytes(from, from + 2048) == pattern(2048, n + pe));
            }
    });
    BOOST_CHECK(reports().empty());
}

BOOST_AUTO_TEST_CASE(a_tensor_is_freed_while_its_pages_fault_and_nothing_is_left_of_it) {
    platform p;
    tensor *made = nullptr;
    unsigned answered[2] = {0, 0};
    bool over = false;
    for (unsigned pe = 0; pe < 2; pe++)
        p.cpus[pe]->body = [&, pe] {
            while (!made)
                sc_core::wait(10, sc_core::SC_NS);
            const std::uint64_t va = made->va.value;
            for (unsigned n = 0; !over || n < 40; n++) {
                bytes data(64);
                sc_core::sc_time delay;
                answered[p.cpus[pe]->write(va + n % 40 * page, data, delay) == tlm::TLM_OK_RESPONSE]++;
                sc_core::wait(delay);
                if (over) break;
            }
        };
    p.run([&] {
        host::sharding where = p.runtime->everywhere();
        where.kind = spread::demand;
        BOOST_CHECK_EQUAL(p.runtime->create_tensor("t", 40 * page, 1, where, &made, &p.error), TLA_OK);
        sc_core::wait(1500, sc_core::SC_NS); // in the middle of a fault
        BOOST_CHECK_EQUAL(p.runtime->free_tensor(made, &p.error), TLA_OK);
        sc_core::wait(1, sc_core::SC_US);
        over = true;
        sc_core::wait(1, sc_core::SC_US);
    });
    BOOST_CHECK_GT(answered[0], 0u);
    BOOST_CHECK_GT(answered[1], 0u);
}

namespace {

// Two senders map, each in its own pages, through a va_manager and a command processor whose children wait.
void check_fan_out(tla_map_ack ack) {
    platform p(ack);
    initiator second("second"), third("third");
    second.out.bind(p.addresses->control);
    third.out.bind(p.addresses->control);
    const auto drive = [&](initiator &cpu, unsigned port) {
        for (unsigned round = 0; round < 3; round++)
            for (const tla_opcode opcode : {TLA_OP_MAP, TLA_OP_UNMAP})
                for (unsigned n = 0; n < 8; n++) {
                    if (round == 2 && opcode == TLA_OP_UNMAP) continue;
                    const std::uint64_t va = platform::va_base + (port * 8 + n) * page;
                    const tla_completion answer =
                        cpu.command(port * std::uint64_t{TLA_PORT_BYTES},
                                    map_command(TLA_TARGET_VA_MANAGER, opcode,
                                                {{va, hbm_at((port * 8 + n) * page, 0, slice_bytes), page}}));
                    BOOST_REQUIRE_EQUAL(answer.status, TLA_OK);
                }
    };
    second.body = [&] { drive(second, 1); };
    third.body = [&] { drive(third, 2); };
    p.runtime->main = [] {};
    simulate({&second, &third});
    for (const auto &mmu : p.mmus) {
        BOOST_CHECK_EQUAL(mmu->get_statistics().table.mapped_bytes, 16 * page);
        BOOST_CHECK_EQUAL(mmu->get_statistics().failed, 0u);
    }
    BOOST_CHECK_EQUAL(p.addresses->get_statistics().failed, 0u);
    BOOST_CHECK_EQUAL(p.addresses->get_statistics().posted_failures, 0u);
    BOOST_CHECK(reports().empty());
}

} // namespace

BOOST_AUTO_TEST_CASE(two_senders_map_through_processors_whose_children_wait) {
    check_fan_out(TLA_MAP_ACK_VISIBLE);
}

BOOST_AUTO_TEST_CASE(two_senders_map_through_processors_whose_children_wait_without_waiting_for_answers) {
    check_fan_out(TLA_MAP_ACK_POSTED);
}
