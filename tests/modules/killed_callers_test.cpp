// A thread that is killed or reset in the middle of a call: its payload, bytes and extensions go with it, and what it
// asked for comes to an end all the same.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "bare.hpp"
#include "slow_lane.hpp"
#include "test_initiator.hpp"
#include "tlmalloc/config.h"
#include "tlmalloc/modules/command_sender.hpp"
#include "tlmalloc/modules/extensions.hpp"

#include <memory>

using namespace tlmalloc;
using namespace test_initiator;

namespace {

const std::uint64_t page = 4096, memory_bytes = 1 << 20;

std::uint64_t hbm(std::uint64_t offset) {
    tla_paddr pa{};
    tla_paddr_pe_hbm(0, 0, 0, offset, memory_bytes, &pa);
    return pa.value;
}

// An access with everything that belongs to it on the heap, which goes with the thread that makes it: whoever touches
// it afterwards is seen by the address sanitizer.
class call {
  public:
    call(tlm::tlm_command command, std::uint64_t address, const bytes &data, const bytes &enables, unsigned width,
         std::uint32_t asid)
        : data_(data), enables_(enables), who_(asid, 1), extent_(16, 16) {
        payload_->set_command(command);
        payload_->set_address(address);
        payload_->set_data_ptr(data_.data());
        payload_->set_data_length(static_cast<unsigned>(data_.size()));
        payload_->set_streaming_width(width);
        if (!enables_.empty()) {
            payload_->set_byte_enable_ptr(enables_.data());
            payload_->set_byte_enable_length(static_cast<unsigned>(enables_.size()));
        }
        payload_->set_extension(&who_);
        payload_->set_extension(&extent_);
    }
    ~call() {
        BOOST_CHECK(payload_->get_extension<requester>() == &who_);
        BOOST_CHECK(payload_->get_extension<transfer_extent>() == &extent_);
        payload_->clear_extension(&who_);
        payload_->clear_extension(&extent_);
    }
    call(const call &) = delete;
    call &operator=(const call &) = delete;

    void make(tlm::tlm_fw_transport_if<> &target) {
        sc_core::sc_time delay;
        target.b_transport(*payload_, delay);
        sc_core::wait(delay);
    }

  private:
    bytes data_, enables_;
    requester who_;
    transfer_extent extent_;
    std::unique_ptr<tlm::tlm_generic_payload> payload_ = std::make_unique<tlm::tlm_generic_payload>();
};

struct attempt {
    tlm::tlm_command command = tlm::TLM_WRITE_COMMAND;
    std::uint64_t address = 0;
    std::size_t length = 256;
    unsigned width = 0; // 0: the length
    bytes enables{};
    std::uint32_t asid = 0;

    void make(tlm::tlm_fw_transport_if<> &target, unsigned seed) const {
        const auto mine = std::make_unique<call>(command, address, pattern(length, seed), enables,
                                                 width ? width : static_cast<unsigned>(length), asid);
        mine->make(target);
    }
    std::size_t span() const { return width ? width : length; }
    // What a write leaves of what was there.
    bytes result(bytes there, unsigned seed) const {
        const bytes data = pattern(length, seed);
        for (std::size_t i = 0; i < length; i++)
            if (enables.empty() || enables[i % enables.size()] == TLM_BYTE_ENABLED) there[i % span()] = data[i];
        return there;
    }
};

enum class end { kill, reset };

// Lets an attempt be killed or reset after `after_ps`, and waits until all of it is over.
void give_up(tlm::tlm_fw_transport_if<> &target, const attempt &what, unsigned seed, std::uint64_t after_ps, end how) {
    bool again = false;
    sc_core::sc_process_handle thread = sc_core::sc_spawn([&] {
        if (std::exchange(again, true)) return; // after a reset
        what.make(target, seed);
    });
    sc_core::wait(from_ps(after_ps));
    if (!thread.terminated()) how == end::kill ? thread.kill() : thread.reset();
    sc_core::wait(10, sc_core::SC_US);
}

// Attempts are given up at every moment of their time. Every write leaves in each of `pieces` (as many bytes as they
// say, together the span) either all of its bytes or none; `whole` if it must be all of them.
void give_up_at_every_moment(initiator &judge, const attempt &what, std::vector<std::size_t> pieces, bool whole,
                             std::uint64_t until_ps, std::uint64_t step_ps, end how = end::kill) {
    tlm::tlm_fw_transport_if<> &target = *judge.out.operator->();
    unsigned seed = 1;
    std::size_t arrived = 0, lost = 0;
    for (std::uint64_t after = step_ps; after <= until_ps; after += step_ps) {
        bytes before = pattern(what.span(), ++seed), now(what.span());
        BOOST_REQUIRE_EQUAL(judge.debug(tlm::TLM_WRITE_COMMAND, what.address, before), before.size());
        give_up(target, what, ++seed, after, how);
        BOOST_REQUIRE_EQUAL(judge.debug(tlm::TLM_READ_COMMAND, what.address, now), now.size());
        const bytes written = what.command == tlm::TLM_WRITE_COMMAND ? what.result(before, seed) : before;
        auto n = now.cbegin(), w = written.cbegin(), b = before.cbegin();
        for (const std::size_t nbytes : pieces) {
            const auto length = static_cast<std::ptrdiff_t>(nbytes);
            const bool all = std::equal(n, n + length, w), none = std::equal(n, n + length, b);
            BOOST_CHECK_MESSAGE(all || (none && !whole), "given up after " << after << " ps");
            arrived += all;
            lost += none && !all;
            n += length;
            w += length;
            b += length;
        }
        judge.write(what.address, pattern(what.span(), seed)); // others are served as ever
        BOOST_CHECK(judge.read(what.address, what.span()) == pattern(what.span(), seed));
    }
    BOOST_CHECK(arrived > 0);
    if (what.command == tlm::TLM_WRITE_COMMAND) BOOST_CHECK_EQUAL(lost > 0, !whole);
}

const attempt plain_write{}, plain_read{tlm::TLM_READ_COMMAND},
    masked{tlm::TLM_WRITE_COMMAND, 0, 256, 0, {0xff, 0, 0xff}}, streaming{tlm::TLM_WRITE_COMMAND, 0, 256, 64};

tcm::config tile() {
    tcm::config config = bare<tcm>();
    config.capacity = memory_bytes;
    config.latency_ps = 1'000;
    return config;
}

hbm_slice::config slice_config() {
    hbm_slice::config config = bare<hbm_slice>();
    config.capacity = memory_bytes;
    config.latency_ps = 1'000;
    return config;
}

memory_controller::config controller_config(tla_guard_mode guard) {
    memory_controller::config config = bare<memory_controller>();
    config.memory.of[TLA_HBM].bytes = memory_bytes;
    config.memory.of[TLA_TCM].bytes = config.memory.of[TLA_TCM].reserved = 0;
    config.guard = guard;
    return config;
}

pe_mmu::config mmu_config(tla_walk_mode walk = TLA_WALK_IDEAL) {
    pe_mmu::config config = bare<pe_mmu>();
    config.page_size = page;
    config.va_bits = 52;
    config.walk = walk;
    config.overhead_ps = 700;
    if (walk == TLA_WALK_IDEAL) return config;
    config.tlb_l1 = {1, 0, 1000, TLA_REPLACE_LRU};
    config.walkers.walkers = 2;
    config.allocator_port = 1;
    return config;
}

interconnect::config way_to(std::size_t targets) {
    interconnect::config links = bare<interconnect>();
    links.nodes.resize(2);
    links.links = {{0, 1, 2'000, 64'000'000'000, 0, 0}, {1, 0, 2'000, 64'000'000'000, 0, 0}};
    links.sources = {0};
    links.targets = std::vector<std::uint32_t>(targets, 1);
    return links;
}

// Binds them, somebody else's target in between where there is one.
template <typename Out, typename In>
void lead(Out &out, slow_lane *lane, In &in) {
    if (!lane) {
        out.bind(in);
        return;
    }
    out.bind(lane->in);
    lane->out.bind(in);
}

// An MMU in front of a TCM, with two pages that lie the other way round; an access in the middle is split. Somebody
// else's target stands in between, or not.
struct split_bench {
    explicit split_bench(bool foreign) : mmu("mmu", mmu_config()), memory("tcm", tile()) {
        judge.out.bind(mmu.in);
        driver.out.bind(mmu.control);
        if (foreign) lane = std::make_unique<slow_lane>("lane");
        lead(mmu.out, lane.get(), memory.in);
    }
    void run(const std::function<void()> &body) {
        judge.body = [this, &body] {
            driver.command(0, map_command(TLA_TARGET_PE_MMU, TLA_OP_MAP, {{0, page, page}, {page, 0, page}}));
            body();
        };
        simulate({&judge});
    }
    pe_mmu mmu;
    tcm memory;
    std::unique_ptr<slow_lane> lane; // or none
    initiator judge{"judge"}, driver{"driver"};
};

attempt across(attempt what) {
    what.address = page - 32;
    return what;
}

void splits_are_given_up(bool foreign, end how) {
    split_bench b(foreign);
    const bool whole = !foreign;
    b.run([&] {
        for (const attempt &what : {across(plain_write), across(plain_read), across(masked), across(streaming)})
            give_up_at_every_moment(b.judge, what, {32, what.span() - 32}, whole, 15'000, 500, how);
    });
}

void run_on(memory_module &memory, end how) {
    initiator judge("judge");
    judge.out.bind(memory.in);
    judge.body = [&] {
        for (const attempt &what : {plain_write, plain_read, masked, streaming})
            give_up_at_every_moment(judge, what, {what.span()}, true, 6'000, 250, how);
    };
    simulate({&judge});
}

// Initiator -> fabric -> controller -> slice; the blocks belong to address space 3, whose requester goes.
void guarded_accesses_are_given_up(tla_guard_mode guard, bool foreign) {
    hbm_slice slice("slice", slice_config());
    memory_controller controller("controller", controller_config(guard));
    std::unique_ptr<slow_lane> lane;
    if (foreign) lane = std::make_unique<slow_lane>("lane");
    interconnect::config links = way_to(2);
    links.windows = {{hbm(0), memory_bytes, 0, false}, {std::uint64_t{1} << 50, TLA_CONTROL_BLOCK_BYTES, 1, true}};
    interconnect fabric("fabric", links);
    initiator judge("judge");
    judge.out.bind(fabric.in);
    lead(fabric.out, lane.get(), controller.in);
    fabric.out.bind(controller.control);
    controller.slice.bind(slice.in);
    requester owner(3, 1);
    judge.as = &owner;
    judge.body = [&] {
        const tla_completion answer = judge.command(std::uint64_t{1} << 50, alloc_command(TLA_HBM, 3 * page));
        BOOST_REQUIRE_EQUAL(answer.status, TLA_OK);
        for (attempt what : {plain_write, plain_read, masked, streaming}) {
            what.address = answer.value + page;
            what.asid = owner.asid;
            give_up_at_every_moment(judge, what, {what.span()}, !foreign, 40'000, 1'000);
        }
    };
    simulate({&judge});
    BOOST_CHECK(reports().empty());
}

} // namespace

BOOST_AUTO_TEST_CASE(a_tcm_gets_all_bytes_that_a_killed_thread_has_sent) {
    tcm memory("tcm", tile());
    run_on(memory, end::kill);
}
BOOST_AUTO_TEST_CASE(a_tcm_gets_all_bytes_that_a_reset_thread_has_sent) {
    tcm memory("tcm", tile());
    run_on(memory, end::reset);
}
BOOST_AUTO_TEST_CASE(a_slice_gets_all_bytes_that_a_killed_thread_has_sent) {
    hbm_slice slice("slice", slice_config());
    run_on(slice, end::kill);
}
BOOST_AUTO_TEST_CASE(banks_get_all_bytes_that_a_killed_thread_has_sent) {
    hbm_slice::config config = slice_config();
    tla_hbm_config timing{};
    BOOST_REQUIRE_EQUAL(tla_timing_named("hbm3", &timing), TLA_OK);
    config.timing = timing;
    hbm_slice slice("slice", config);
    run_on(slice, end::kill);
}

BOOST_AUTO_TEST_CASE(all_pieces_of_an_access_of_a_killed_thread_arrive) {
    splits_are_given_up(false, end::kill);
}
BOOST_AUTO_TEST_CASE(all_pieces_of_an_access_of_a_reset_thread_arrive) {
    splits_are_given_up(false, end::reset);
}
BOOST_AUTO_TEST_CASE(pieces_that_a_foreign_target_has_are_given_up_with_the_thread) {
    splits_are_given_up(true, end::kill);
}
BOOST_AUTO_TEST_CASE(pieces_that_a_foreign_target_has_are_given_up_with_a_reset) {
    splits_are_given_up(true, end::reset);
}
BOOST_AUTO_TEST_CASE(an_access_that_is_not_split_has_its_extent_back_when_its_thread_is_killed) {
    split_bench b(true);
    b.run([&] { give_up_at_every_moment(b.judge, plain_write, {256}, false, 10'000, 500); });
}

BOOST_AUTO_TEST_CASE(a_fabric_forwards_all_bytes_that_a_killed_thread_has_sent) {
    guarded_accesses_are_given_up(TLA_GUARD_OFF, false);
}
BOOST_AUTO_TEST_CASE(a_guarded_memory_gets_all_bytes_that_a_killed_thread_has_sent) {
    guarded_accesses_are_given_up(TLA_GUARD_ERROR, false);
}
BOOST_AUTO_TEST_CASE(accesses_to_a_foreign_target_are_abandoned_with_their_killed_thread) {
    guarded_accesses_are_given_up(TLA_GUARD_OFF, true);
}

// With tables in memory, whose reads go through somebody else's target that calls on.
BOOST_AUTO_TEST_CASE(walks_of_an_access_whose_thread_is_killed_come_to_their_end) {
    hbm_slice slice("slice", slice_config());
    memory_controller controller("controller", controller_config(TLA_GUARD_OFF));
    controller.slice.bind(slice.in);
    pe_mmu mmu("mmu", mmu_config(TLA_WALK_MEMORY));
    slow_lane lane("lane");
    initiator judge("judge"), driver("driver");
    judge.out.bind(mmu.in);
    driver.out.bind(mmu.control);
    mmu.out.bind(controller.in);
    mmu.walk.bind(lane.in);
    lane.out.bind(controller.in);
    mmu.allocator.bind(controller.control);
    judge.body = [&] {
        driver.command(
            0, map_command(TLA_TARGET_PE_MMU, TLA_OP_MAP, {{0, hbm(0x40000), page}, {page, hbm(0x60000), page}}));
        for (const attempt &what : {across(plain_write), across(plain_read)})
            give_up_at_every_moment(judge, what, {32, what.span() - 32}, true, 100'000, 2'500);
        judge.read(0, 16);
    };
    simulate({&judge});
    BOOST_CHECK(reports().empty());
}

BOOST_AUTO_TEST_CASE(a_foreign_target_may_kill_the_thread_that_calls_it) {
    split_bench b(true);
    b.run([&] {
        sc_core::sc_process_handle thread;
        bool killed = false;
        b.lane->inside = [&](tlm::tlm_generic_payload &) {
            if (!std::exchange(killed, true)) thread.kill();
        };
        thread = sc_core::sc_spawn([&] { across(plain_write).make(*b.judge.out.operator->(), 7); });
        sc_core::wait(1, sc_core::SC_US);
        BOOST_CHECK(killed && thread.terminated());
        b.judge.write(page - 32, pattern(256));
        BOOST_CHECK(b.judge.read(page - 32, 256) == pattern(256));
    });
}

// Over a fabric a control window is called from a thread of the fabric's.
BOOST_AUTO_TEST_CASE(commands_of_threads_that_are_killed_leave_the_window_to_others) {
    hbm_slice slice("slice", slice_config());
    memory_controller::config settings = controller_config(TLA_GUARD_OFF);
    settings.cost.fixed_ps = 20'000;
    memory_controller controller("controller", settings);
    controller.slice.bind(slice.in);
    interconnect::config links = way_to(1);
    links.windows = {{0, TLA_CONTROL_BLOCK_BYTES, 0, true}};
    interconnect fabric("fabric", links);
    initiator judge("judge"), idle("idle");
    judge.out.bind(fabric.in);
    idle.out.bind(controller.in);
    fabric.out.bind(controller.control);
    judge.body = [&] {
        for (std::uint64_t after = 500; after < 40'000; after += 500) {
            bool ended = false;
            sc_core::sc_process_handle thread = sc_core::sc_spawn([&] {
                const auto who = std::make_unique<requester>(3, 1);
                sc_core::sc_time delay;
                tla_completion done{};
                send_command(judge.out, TLA_PORT_BYTES, alloc_command(TLA_HBM, 64), done, delay, who.get());
                ended = true;
            });
            sc_core::wait(from_ps(after));
            if (!ended) thread.kill();
            sc_core::wait(1, sc_core::SC_US);
            BOOST_CHECK_EQUAL(judge.command(0, alloc_command(TLA_HBM, 64)).status, TLA_OK);
            BOOST_CHECK_EQUAL(judge.command(TLA_PORT_BYTES, alloc_command(TLA_HBM, 64)).status, TLA_OK);
        }
    };
    simulate({&judge});
    BOOST_CHECK(reports().empty());
}

// The host's thread is reset again and again while it writes a tensor, in many accesses at the same time.
BOOST_AUTO_TEST_CASE(a_host_that_is_reset_leaves_its_accesses_on_their_way) {
    const char *const overrides[] = {"system.pes_per_cube=2", "hbm.capacity_per_cube=2 MiB", "mmu.page_size=4 KiB",
                                     "va.size=64 MiB"};
    tla_config config{};
    BOOST_REQUIRE_EQUAL(tla_config_load(nullptr, overrides, std::size(overrides), &config, nullptr, nullptr), TLA_OK);
    npu platform("npu", config, {nullptr, 0});
    host &h = platform.host();
    const std::size_t length = 20'000;
    tensor *t = nullptr;
    unsigned rounds = 0;
    bool finished = false;
    sc_core::sc_process_handle thread;
    sc_core::sc_event made;
    h.main = [&] {
        thread = sc_core::sc_get_current_process_handle();
        if (!t) BOOST_REQUIRE_EQUAL(h.create_tensor("t", length, 1, h.everywhere(), &t, nullptr), TLA_OK);
        made.notify(sc_core::SC_ZERO_TIME);
        const auto data = std::make_unique<bytes>(pattern(length, ++rounds)), got = std::make_unique<bytes>(length);
        BOOST_CHECK_EQUAL(h.write_tensor(*t, data->data(), nullptr), TLA_OK);
        BOOST_CHECK_EQUAL(h.read_tensor(*t, got->data(), nullptr), TLA_OK);
        BOOST_CHECK(*got == *data);
        BOOST_CHECK_EQUAL(h.cleanup(nullptr), TLA_OK);
        finished = true;
    };
    sc_core::sc_spawn([&] {
        for (unsigned i = 1; i <= 20; i++) {
            sc_core::wait(made);
            sc_core::wait(10 * i, sc_core::SC_NS);
            thread.reset();
        }
    });
    sc_core::sc_start();
    BOOST_CHECK(finished);
    BOOST_CHECK_EQUAL(rounds, 21u);
    BOOST_CHECK_EQUAL(platform.leaks(), 0u);
}

// The extensions of what is under way belong to modules, and go with them.
BOOST_AUTO_TEST_CASE(a_simulation_may_end_in_the_middle_of_a_transfer) {
    pe_dma::config settings = bare<pe_dma>();
    settings.tell_extent = true;
    tcm far("far", tile()), local("local", tile());
    pe_dma dma("dma", settings);
    dma.out.bind(far.in);
    dma.local.bind(local.in);
    bool ended = false;
    sc_core::sc_spawn([&] {
        sc_core::sc_time delay;
        dma.transfer({pe_dma::direction::read, {0}, {0}, 1, 65'536, 65'536}, delay);
        ended = true;
    });
    sc_core::sc_start(20, sc_core::SC_NS);
    BOOST_CHECK(!ended);
}
BOOST_AUTO_TEST_CASE(a_simulation_may_end_in_the_middle_of_a_split_access) {
    split_bench b(true);
    bool ended = false;
    b.judge.body = [&] {
        b.driver.command(0, map_command(TLA_TARGET_PE_MMU, TLA_OP_MAP, {{0, page, page}, {page, 0, page}}));
        across(plain_write).make(*b.judge.out.operator->(), 7);
        ended = true;
    };
    sc_core::sc_start(4, sc_core::SC_NS);
    BOOST_CHECK(!ended);
}
