// Resets of what lies between: the fabric, the command processor and the VA manager, in the middle of traffic and of a
// fan-out; and at every time of it.
#include "bare.hpp"
#include "test_initiator.hpp"
#include "unit/seeded_random.hpp"

#include <memory>

using namespace tlmalloc;
using namespace test_initiator;

namespace {

const std::uint64_t ns = 1000, page = 4096, base = std::uint64_t{4} << 30, again_ps = 100'000 * ns;
const unsigned pes = 3;

std::uint64_t mmu_address(unsigned pe) {
    tla_paddr pa{};
    BOOST_REQUIRE_EQUAL(tla_paddr_pe_control(0, 0, pe, TLA_CONTROL_PE_MMU, 0, &pa), TLA_OK);
    return pa.value;
}

void until(std::uint64_t ps) {
    const std::uint64_t now = to_ps(sc_core::sc_time_stamp());
    if (ps > now) sc_core::wait(from_ps(ps - now));
}

// cpu -> VA manager -> command processor -> fabric -> the MMUs' ports and two slices; `data` at the fabric. `line`
// leads to all of them.
struct platform : sc_core::sc_module {
    platform(const std::string &name, tla_map_ack ack = TLA_MAP_ACK_VISIBLE)
        : sc_module(sc_core::sc_module_name(name.c_str())) {
        interconnect::config links = bare<interconnect>();
        links.flit = 64;
        links.nodes.resize(2 + pes + 2);
        links.sources = {0, 1};
        va_manager::config va = bare<va_manager>();
        va.space = {{base}, 64 * page, page};
        va.route_target = TLA_TARGET_M_CPU;
        va.routes.push_back({0, {~0u, ~0u, ~0u}});
        va.map_ack = ack;
        va.cost.fixed_ps = 5 * ns;
        command_processor::config processor = bare<command_processor>();
        processor.overhead_ps = 4 * ns;
        pe_mmu::config mmu = bare<pe_mmu>();
        mmu.page_size = page;
        for (unsigned target = 0; target < pes + 2; target++) {
            links.links.push_back({0, 1, 1 * ns, 32'000'000'000, 0});
            for (const unsigned source : {0u, 1u}) {
                links.links.push_back({source, 2 + target, 2 * ns, 16'000'000'000, 0});
                links.links.push_back({2 + target, source, 2 * ns, 16'000'000'000, 0});
            }
            links.targets.push_back(2 + target);
            if (target < pes)
                links.windows.push_back({mmu_address(target), TLA_CONTROL_BLOCK_BYTES, target, true});
            else
                links.windows.push_back({(target - pes) * 0x10000, 0x10000, target, true});
        }
        fabric = std::make_unique<interconnect>("fabric", links);
        for (unsigned pe = 0; pe < pes; pe++) {
            processor.routes.push_back({mmu_address(pe), {~0u, ~0u, 1u << pe}});
            mmu.cost.fixed_ps = (10 + 7 * pe) * ns;
            const std::string n = std::to_string(pe);
            mmus.push_back(std::make_unique<pe_mmu>(("mmu" + n).c_str(), mmu));
            feeds.push_back(std::make_unique<initiator>(("feed" + n).c_str()));
            memories.push_back(std::make_unique<hbm_slice>(("memory" + n).c_str(), slice()));
            feeds[pe]->out.bind(mmus[pe]->in);
            mmus[pe]->out.bind(memories[pe]->in);
        }
        addresses = std::make_unique<va_manager>("addresses", va);
        m_cpu = std::make_unique<command_processor>("m_cpu", processor);
        cpu.out.bind(addresses->control);
        addresses->out.bind(m_cpu->control);
        m_cpu->out.bind(fabric->in);
        data.out.bind(fabric->in);
        for (auto &m : mmus)
            fabric->out.bind(m->control);
        for (const char *n : {"near", "far"}) {
            memories.push_back(std::make_unique<hbm_slice>(n, slice()));
            fabric->out.bind(memories.back()->in);
            memories.back()->reset_in.bind(line);
        }
        for (reset_input *input : {&fabric->reset_in, &m_cpu->reset_in, &addresses->reset_in})
            input->bind(line);
        for (auto &m : mmus)
            m->reset_in.bind(line);
    }

    static hbm_slice::config slice() {
        hbm_slice::config config = bare<hbm_slice>();
        config.capacity = 0x10000;
        config.latency_ps = 30 * ns;
        return config;
    }

    bool in_reset() const {
        bool any = fabric->in_reset() || m_cpu->in_reset() || addresses->in_reset();
        for (const auto &m : mmus)
            any |= m->in_reset();
        return any || memories[pes]->in_reset() || memories[pes + 1]->in_reset();
    }

    std::vector<std::uint64_t> mapped() const {
        std::vector<std::uint64_t> found;
        for (const auto &m : mmus)
            found.push_back(m->get_statistics().table.mapped_bytes / page);
        return found;
    }

    // Until nothing is on its way that was sent before.
    void hold_line() {
        line = true;
        sc_core::wait(from_ps(2000 * ns));
        line = false;
    }

    std::unique_ptr<interconnect> fabric;
    std::vector<std::unique_ptr<pe_mmu>> mmus;
    std::vector<std::unique_ptr<initiator>> feeds;
    std::vector<std::unique_ptr<hbm_slice>> memories;
    std::unique_ptr<va_manager> addresses;
    std::unique_ptr<command_processor> m_cpu;
    initiator cpu{"cpu"}, data{"data"};
    sc_core::sc_signal<bool> line{"line"};
    std::vector<std::uint64_t> said; // by cpu and data, each in its order
    std::vector<std::uint64_t> said_of_data;
};

tla_command random_command(seeded_random &random) {
    tla_command command{};
    const std::uint64_t va = base + random.between(0, 9) * page, kind = random.between(1, 10);
    if (kind <= 6)
        command = map_command(TLA_TARGET_VA_MANAGER, kind <= 4 ? TLA_OP_MAP : TLA_OP_UNMAP, {{va, 0x8000, page}},
                              {~0u, ~0u, static_cast<std::uint32_t>(random.between(1, 7))});
    else {
        command.target = TLA_TARGET_VA_MANAGER;
        command.opcode = kind <= 8 ? TLA_OP_VA_ALLOC : TLA_OP_VA_FREE;
        command.nbytes = page;
        command.va = {va};
    }
    return command;
}

// This and the next end with what is under way when a reset begins.
void use_commands(platform &s, unsigned seed, std::uint64_t begin_ps, unsigned count,
                  std::vector<std::uint64_t> &said) {
    seeded_random random(seed);
    const std::uint64_t resets = s.fabric->resets();
    for (unsigned i = 0; i < count; i++) {
        until(begin_ps + i * 400 * ns);
        if (s.fabric->resets() != resets) return;
        sc_core::sc_time delay;
        const unsigned port = i % 3 * TLA_PORT_BYTES;
        BOOST_CHECK_EQUAL(s.cpu.post(port, random_command(random), delay), tlm::TLM_OK_RESPONSE);
        const tla_completion c = s.cpu.completion(port, delay);
        if (delay != sc_core::SC_ZERO_TIME) sc_core::wait(delay);
        said.insert(said.end(), {std::uint64_t(c.status), c.value, c.nbytes, c.total_free, c.service_ps,
                                 to_ps(sc_core::sc_time_stamp())});
        for (const std::uint64_t count_of_pages : s.mapped())
            said.push_back(count_of_pages);
    }
}

void use_data(platform &s, unsigned seed, std::uint64_t begin_ps, unsigned count, std::vector<std::uint64_t> &said) {
    seeded_random random(seed);
    until(begin_ps);
    const std::uint64_t resets = s.fabric->resets();
    for (unsigned i = 0; i < count && s.fabric->resets() == resets; i++) {
        const std::uint64_t address = random.between(0, 0x1f000);
        bytes some(random.between(1, 300), static_cast<std::uint8_t>(i));
        sc_core::sc_time delay;
        const auto status = random.one_in(2) ? s.data.write(address, some, delay) : s.data.read(address, some, delay);
        if (delay != sc_core::SC_ZERO_TIME) sc_core::wait(delay);
        said.insert(said.end(), {std::uint64_t(status), some[0], to_ps(sc_core::sc_time_stamp())});
        sc_core::wait(from_ps(random.between(0, 30'000)));
    }
}

// A reset by the line at a time of the traffic; then what is said is what a system says that was never used.
struct swept : platform {
    swept(const std::string &name, tla_map_ack ack, std::uint64_t reset_ps) : platform(name, ack), at(reset_ps) {
        cpu.body = [this] {
            if (at) {
                std::vector<std::uint64_t> before;
                use_commands(*this, 1, 0, 3, before);
            }
            until(again_ps - 1);
            BOOST_CHECK_MESSAGE(!in_reset(), this->name());
            use_commands(*this, 2, again_ps, 30, said);
        };
        data.body = [this] {
            if (at) {
                std::vector<std::uint64_t> before;
                use_data(*this, 3, 0, 15, before);
            }
            use_data(*this, 4, again_ps, 60, said_of_data);
        };
        resetter.body = [this] {
            if (!at) return;
            until(at);
            hold_line();
        };
        resetter.out.bind(nothing.in);
    }
    const std::uint64_t at;
    initiator resetter{"resetter"};
    hbm_slice nothing{"nothing", slice()};
};

void check_sweep(tla_map_ack ack, std::uint64_t from_ps, std::uint64_t to_ps, std::uint64_t step) {
    std::vector<std::unique_ptr<swept>> systems;
    systems.push_back(std::make_unique<swept>("untouched", ack, 0));
    for (std::uint64_t at = from_ps; at < to_ps; at += step)
        systems.push_back(std::make_unique<swept>("at" + std::to_string(at), ack, at));
    sc_core::sc_report_handler::set_handler(keep_report);
    sc_core::sc_start();
    BOOST_CHECK_GT(systems[0]->said.size(), 200u);
    for (const auto &s : systems) {
        BOOST_CHECK_MESSAGE(s->cpu.finished && s->data.finished && s->resetter.finished, s->name());
        const auto differs = [&](const std::vector<std::uint64_t> &a, const std::vector<std::uint64_t> &b) {
            return std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin();
        };
        BOOST_CHECK_MESSAGE(s->said == systems[0]->said,
                            s->name() << ": commands, from " << differs(s->said, systems[0]->said) << " on");
        BOOST_CHECK_MESSAGE(s->said_of_data == systems[0]->said_of_data,
                            s->name() << ": data, from " << differs(s->said_of_data, systems[0]->said_of_data)
                                      << " on");
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(a_fabric_and_commands_on_their_way_are_as_new_after_a_reset_at_any_time) {
    check_sweep(TLA_MAP_ACK_VISIBLE, 1, 400 * ns, 5 * ns + 1);
}
BOOST_AUTO_TEST_CASE(posted_mappings_are_forgotten_by_a_reset_at_any_time) {
    check_sweep(TLA_MAP_ACK_POSTED, 1, 400 * ns, 5 * ns + 1);
}

// The fabric alone: what is on its way comes there, what comes then is refused.
BOOST_AUTO_TEST_CASE(accesses_on_their_way_through_a_fabric_that_is_reset_are_answered) {
    platform s("s");
    s.data.body = [&] {
        sc_core::sc_time delay;
        BOOST_CHECK_EQUAL(s.data.write(0x100, bytes(1000, 5), delay), tlm::TLM_OK_RESPONSE);
        sc_core::wait(from_ps(1));
        BOOST_CHECK(!s.fabric->in_reset());
        BOOST_CHECK(s.data.read(0x100, 1000) == bytes(1000, 5)); // the memory is another module
        BOOST_CHECK(s.data.pointer_to(0x100) != nullptr);
        s.fabric->reset();
        BOOST_CHECK_EQUAL(s.data.lost.size(), 2u);
    };
    s.cpu.body = [&] {
        until(20 * ns);
        s.fabric->reset();
        BOOST_CHECK(s.fabric->in_reset());
        BOOST_CHECK(s.data.pointer_to(0x100) == nullptr);
        bytes word(4, 0xee);
        BOOST_CHECK_EQUAL(s.data.debug(tlm::TLM_READ_COMMAND, 0x100, word), 4u);
        sc_core::sc_time delay;
        BOOST_CHECK_EQUAL(s.data.read(0x100, word, delay), tlm::TLM_GENERIC_ERROR_RESPONSE);
        BOOST_CHECK_EQUAL(to_ps(sc_core::sc_time_stamp()), 20 * ns);
    };
    simulate({&s.cpu, &s.data});
}

// The last node to see an access sees it in an action that a neighbour's call runs ahead of the kernel. Whether there
// is such a call, or it waits, the reset is over at the time of that action: when the target has read its bytes.
static void check_end_beside(bool neighbour_calls, const sc_core::sc_time &ahead) {
    interconnect::config f;
    f.nodes.resize(2);
    f.links = {{0, 1, 1000 * ns, 64'000'000'000, 0, 0}, {1, 0, 1000 * ns, 64'000'000'000, 0, 0}};
    f.sources = {0};
    f.targets = {1};
    f.windows = {{0, 4096, 0, false}};
    interconnect fabric("fabric", f);
    tcm far("far", bare<tcm>()), near("near", bare<tcm>());
    initiator data("data"), neighbour("neighbour");
    data.out.bind(fabric.in);
    fabric.out.bind(far.in);
    neighbour.out.bind(near.in);
    std::uint64_t over_ps = 0;
    data.body = [&] { data.read(0, 64); };
    neighbour.body = [&] {
        until(100 * ns);
        fabric.reset();
        sc_core::sc_spawn([&] {
            fabric.wait_for_reset();
            over_ps = to_ps(sc_core::sc_time_stamp());
        });
        until(101 * ns);
        bytes word(4);
        sc_core::sc_time delay = ahead;
        if (neighbour_calls) BOOST_CHECK_EQUAL(neighbour.read(0, word, delay), tlm::TLM_OK_RESPONSE);
    };
    simulate({&data, &neighbour});
    BOOST_CHECK_EQUAL(over_ps, 1000 * ns + 125); // 64 B at 512 GB/s
    BOOST_CHECK(!fabric.in_reset());
}

BOOST_AUTO_TEST_CASE(a_reset_of_a_fabric_is_over_when_an_access_has_passed) {
    check_end_beside(false, sc_core::SC_ZERO_TIME);
}
BOOST_AUTO_TEST_CASE(a_reset_of_a_fabric_completes_then_beside_a_waiting_initiator) {
    check_end_beside(true, sc_core::SC_ZERO_TIME);
}
BOOST_AUTO_TEST_CASE(a_reset_of_a_fabric_completes_then_beside_an_initiator_that_runs_ahead) {
    check_end_beside(true, sc_core::sc_time(10, sc_core::SC_US));
}

// A reset of one of the three alone, at a time in the middle of a MAP, and then MAPs as ever.
static void check_map_after(tla_map_ack ack, unsigned which) {
    std::vector<std::unique_ptr<platform>> systems;
    for (std::uint64_t at = 1; at < 80 * ns; at += 1 * ns) {
        systems.push_back(std::make_unique<platform>("at" + std::to_string(at), ack));
        platform &s = *systems.back();
        s.data.body = [&s, at, which] {
            until(10'000 * ns + at);
            if (which == 0) s.addresses->reset();
            if (which == 1) s.m_cpu->reset();
            if (which == 2) s.fabric->reset();
        };
        s.cpu.body = [&s, at] {
            const auto map = [&](std::uint64_t va, tla_opcode opcode) {
                return s.cpu.command(0, map_command(TLA_TARGET_VA_MANAGER, opcode, {{va, 0, page}})).status;
            };
            until(10'000 * ns);
            const tla_status first = map(base, TLA_OP_MAP);
            BOOST_CHECK_MESSAGE(first == TLA_OK || first == TLA_RESET || first == TLA_BUS_ERROR, s.name());
            until(20'000 * ns + at);
            BOOST_CHECK_MESSAGE(!s.in_reset(), s.name());
            for (unsigned i = 1; i < 20; i++) {
                BOOST_CHECK_EQUAL(map(base + i * page, TLA_OP_MAP), TLA_OK);
                until(to_ps(sc_core::sc_time_stamp()) + 1000 * ns);
                const auto there = s.mapped();
                // The first MAP is done by all or by none.
                BOOST_CHECK_MESSAGE(there[0] == there[1] && there[1] == there[2] && there[0] - i <= 1,
                                    s.name() << " " << there[0] << " " << there[1] << " " << there[2]);
            }
        };
    }
    sc_core::sc_report_handler::set_handler(keep_report);
    reports().clear();
    sc_core::sc_start();
    for (const auto &s : systems)
        BOOST_CHECK_MESSAGE(s->cpu.finished && s->data.finished, s->name());
}

BOOST_AUTO_TEST_CASE(maps_continue_after_a_reset_of_a_va_manager_alone) {
    check_map_after(TLA_MAP_ACK_VISIBLE, 0);
}
BOOST_AUTO_TEST_CASE(maps_continue_after_a_reset_of_a_va_manager_alone_that_posts_them) {
    check_map_after(TLA_MAP_ACK_POSTED, 0);
}
BOOST_AUTO_TEST_CASE(maps_continue_after_a_reset_of_a_command_processor_alone) {
    check_map_after(TLA_MAP_ACK_VISIBLE, 1);
}
BOOST_AUTO_TEST_CASE(maps_continue_after_a_reset_of_a_fabric_alone) {
    check_map_after(TLA_MAP_ACK_VISIBLE, 2);
}

// Written, queued, and not begun: nothing of it is done after the reset.
BOOST_AUTO_TEST_CASE(a_command_that_is_reset_in_the_moment_of_its_writing_is_never_done) {
    platform s("s");
    s.cpu.body = [&] {
        until(10'000 * ns);
        sc_core::sc_time delay;
        s.cpu.post(0, map_command(TLA_TARGET_VA_MANAGER, TLA_OP_MAP, {{base, 0, page}}), delay);
        s.addresses->reset();
        BOOST_CHECK(!s.addresses->in_reset());
        tla_command alloc{};
        alloc.target = TLA_TARGET_VA_MANAGER;
        alloc.opcode = TLA_OP_VA_FREE;
        alloc.nbytes = page;
        alloc.va = {base};
        alloc.correlation_id = 77;
        s.cpu.post(0, alloc, delay = {});
        const tla_completion answer = s.cpu.completion(0, delay);
        BOOST_CHECK_EQUAL(answer.correlation_id, 77u);
        BOOST_CHECK_EQUAL(answer.opcode, TLA_OP_VA_FREE);
        BOOST_CHECK_EQUAL(answer.status, TLA_NOT_ALLOCATED);
        until(20'000 * ns);
        BOOST_CHECK(s.mapped() == std::vector<std::uint64_t>(pes, 0));
    };
    s.data.body = [] {};
    simulate({&s.cpu, &s.data});
}

BOOST_AUTO_TEST_CASE(a_call_of_reset_is_no_end_of_a_reset_that_is_held) {
    platform s("s");
    s.data.body = [] {};
    s.cpu.body = [&] {
        s.line = true;
        until(10 * ns);
        BOOST_CHECK(s.fabric->in_reset());
        s.fabric->reset();
        BOOST_CHECK(s.fabric->in_reset());
        BOOST_CHECK_EQUAL(s.fabric->resets(), 1u);
        s.line = false;
        until(20 * ns);
        BOOST_CHECK(!s.in_reset());
        s.data.read(0x100, 4);
    };
    simulate({&s.cpu, &s.data});
}
