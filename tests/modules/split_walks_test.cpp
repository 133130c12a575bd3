// Accesses over several pages: their pages are looked up in the order of arrival of the accesses,
// also where an earlier page was held up, merged with a walk or queued for a walker. Beside a plain event model.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "bare.hpp"
#include "plain_mmu.hpp"
#include "test_initiator.hpp"
#include "tlmalloc/modules/pe_mmu.hpp"

#include <deque>
#include <memory>
#include <random>
#include <tlm_utils/multi_passthrough_target_socket.h>

using namespace tlmalloc;
using namespace test_initiator;

namespace {

const std::uint64_t page = plain::mmu::page, pages = 12;

struct transfer {
    std::uint64_t va, nbytes, issued_ps; // issued_ps: after the scenario's start
    bool write = false;
    std::uint64_t end_ps = 0;
};

struct scenario {
    plain::mmu::settings how;
    std::uint64_t level_ps;
    std::vector<transfer> accesses;
};

// Takes no time.
struct memory : sc_core::sc_module {
    tlm_utils::multi_passthrough_target_socket<memory> in{"in"};
    std::vector<std::pair<std::uint64_t, std::uint64_t>> accesses; // address and bytes
    explicit memory(sc_core::sc_module_name name) : sc_module(name) {
        in.register_b_transport(this, &memory::b_transport);
    }
    void b_transport(int, tlm::tlm_generic_payload &payload, sc_core::sc_time &) {
        accesses.push_back({payload.get_address(), payload.get_data_length()});
        payload.set_response_status(tlm::TLM_OK_RESPONSE);
    }
};

// The MMU of one scenario, and who uses it.
struct bench : sc_core::sc_module {
    bench(sc_core::sc_module_name name, const scenario &s) : sc_module(name), mmu("mmu", config(s)) {
        cpu.bind(mmu.in);
        control.bind(mmu.control);
        mmu.out.bind(behind.in);
    }
    static pe_mmu::config config(const scenario &s) {
        pe_mmu::config c = bare<pe_mmu>();
        c.page_size = page;
        c.va_bits = 48;
        c.allow_remap = true;
        c.walk = TLA_WALK_FLAT;
        c.overhead_ps = s.how.overhead_ps;
        c.tlb_l1 = {s.how.tlb_entries, 0, s.how.tlb_ps, TLA_REPLACE_LRU};
        c.walkers = {s.how.walkers, s.how.merge_slots, 0, false, s.how.hit_under_miss, s.level_ps};
        return c;
    }
    void make(const transfer &a, std::uint64_t &end_ps) {
        bytes data(a.nbytes);
        tlm::tlm_generic_payload payload;
        payload.set_command(a.write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND);
        payload.set_address(a.va);
        payload.set_data_ptr(data.data());
        payload.set_data_length(static_cast<unsigned>(a.nbytes));
        payload.set_streaming_width(static_cast<unsigned>(a.nbytes));
        sc_core::sc_time delay;
        cpu->b_transport(payload, delay);
        BOOST_REQUIRE_EQUAL(payload.get_response_status(), tlm::TLM_OK_RESPONSE);
        end_ps = local_ps(delay);
    }
    void map(const mapping &what = {0, 1 << 20, pages *page}) {
        const tla_command command = map_command(TLA_TARGET_PE_MMU, TLA_OP_MAP, {what});
        tla_completion done{};
        sc_core::sc_time delay;
        BOOST_REQUIRE_EQUAL(send_command(*control.operator->(), 0, command, done, delay), TLA_OK);
        BOOST_REQUIRE_EQUAL(done.status, static_cast<std::uint32_t>(TLA_OK));
    }

    tlm_utils::simple_initiator_socket<bench> cpu{"cpu"}, control{"control"};
    pe_mmu mmu;
    memory behind{"memory"};
};

const std::uint64_t first_start_ps = 1'000'000'000, apart_ps = 100'000'000;

std::uint64_t start_of(std::size_t number) {
    return first_start_ps + number * apart_ps;
}

// One scenario after the other, each on an MMU of its own; thread i makes access i of each.
void run_modules(std::vector<scenario> &scenarios) {
    std::deque<bench> benches;
    std::size_t threads = 0;
    for (const scenario &s : scenarios) {
        benches.emplace_back(sc_core::sc_gen_unique_name("bench"), s);
        threads = std::max(threads, s.accesses.size());
    }
    sc_core::sc_spawn([&] {
        for (bench &b : benches)
            b.map();
    });
    for (std::size_t thread = 0; thread < threads; thread++)
        sc_core::sc_spawn([&, thread] {
            for (std::size_t i = 0; i < scenarios.size(); i++) {
                if (thread >= scenarios[i].accesses.size()) continue;
                transfer &mine = scenarios[i].accesses[thread];
                sc_core::wait(from_ps(start_of(i) + mine.issued_ps) - sc_core::sc_time_stamp());
                benches[i].make(mine, mine.end_ps);
                BOOST_REQUIRE_LT(mine.end_ps, start_of(i + 1));
            }
        });
    sc_core::sc_start();
}

// How many pages of split accesses were merged, and queued.
std::pair<std::uint64_t, std::uint64_t> run_plain(scenario &s, std::uint64_t start_ps) {
    plain::events e;
    const unsigned threads = 0, resource = 1;
    plain::mmu mmu(e, resource, s.how, [&](std::uint64_t, plain::picoseconds now, plain::arrived done) {
        e.at(now + 4 * s.level_ps, resource, 0, done);
    });
    for (transfer &a : s.accesses)
        e.at(start_ps + a.issued_ps, threads, 0, [&](plain::picoseconds now) {
            mmu.translate(a.write, a.va, a.nbytes, now, false, [&](plain::picoseconds end) { a.end_ps = end; });
        });
    e.run();
    return {mmu.merged_of_split, mmu.queued_of_split};
}

// On a grid, so that arrivals and ends of walks often have the same time; no two accesses arrive together.
scenario random_scenario(std::mt19937 &generator) {
    const auto random = [&] { return static_cast<std::uint32_t>(generator()); };
    scenario s;
    s.how.walkers = 1 + random() % 3;
    s.how.merge_slots = random() % 3;
    if (random() % 2) {
        s.how.tlb_entries = 2 + random() % 6;
        s.how.tlb_ps = random() % 3 * 1000;
    }
    s.how.hit_under_miss = random() % 4 > 0;
    s.how.overhead_ps = random() % 2 * 1000;
    s.level_ps = std::uint64_t{25'000} << random() % 3;
    const std::size_t count = 4 + random() % 13;
    const std::uint64_t used = 2 + random() % (pages - 1), within = 1 + random() % 8;
    while (s.accesses.size() < count) {
        const std::uint64_t issued_ps = random() % (within * 100) * 1000;
        const auto same = [&](const transfer &a) { return a.issued_ps == issued_ps; };
        if (std::any_of(s.accesses.begin(), s.accesses.end(), same)) continue;
        const std::uint64_t first = random() % used, last = std::min(used - 1, first + random() % 4);
        const std::uint64_t va = first * page + random() % page;
        const std::uint64_t end = last == first ? va + 1 : last * page + 1 + random() % page;
        s.accesses.push_back({va, end - va, issued_ps, random() % 3 == 0});
    }
    return s;
}

void compare(std::vector<scenario> scenarios) {
    std::vector<scenario> expected = scenarios;
    std::uint64_t merged = 0, queued = 0, accesses = 0, differ = 0;
    for (std::size_t i = 0; i < expected.size(); i++) {
        const auto [m, q] = run_plain(expected[i], start_of(i));
        merged += m;
        queued += q;
    }
    run_modules(scenarios);
    for (std::size_t i = 0; i < scenarios.size(); i++) {
        const plain::mmu::settings &how = scenarios[i].how;
        bool alike = true;
        for (std::size_t n = 0; n < scenarios[i].accesses.size(); n++, accesses++) {
            const transfer &ours = scenarios[i].accesses[n], &theirs = expected[i].accesses[n];
            BOOST_CHECK_MESSAGE(
                !alike || ours.end_ps == theirs.end_ps,
                "scenario " << i << " (" << how.walkers << " walkers, " << how.merge_slots << " slots, TLB "
                            << how.tlb_entries << " of " << how.tlb_ps << " ps, hit under miss " << how.hit_under_miss
                            << ", level " << scenarios[i].level_ps << " ps): access " << n << " at " << ours.issued_ps
                            << " ended at " << ours.end_ps - start_of(i) << ", should " << theirs.end_ps - start_of(i));
            alike = alike && ours.end_ps == theirs.end_ps;
        }
        differ += !alike;
    }
    BOOST_TEST_MESSAGE(accesses << " accesses, " << differ << " scenarios differ; pages of split accesses: " << merged
                                << " merged, " << queued << " queued");
    BOOST_CHECK(scenarios.size() < 1000 || (merged > scenarios.size() && queued > scenarios.size()));
}

} // namespace

// One walker. A walks for page 0, B is queued for page 1 and holds up C (pages 2 and 3) and D (page 4).
BOOST_AUTO_TEST_CASE(the_rest_of_a_queued_access_is_looked_up_before_a_later_access) {
    compare({{{1, 4}, 100'000, {{0, 4, 0}, {page, 4, 1000}, {3 * page - 4, 8, 2000}, {4 * page, 4, 450'000}}}});
}

// Two walkers. X is queued for page 2, C (pages 2 and 3) merges with its walk; a walker is free for page 3 meanwhile.
BOOST_AUTO_TEST_CASE(the_rest_of_an_access_that_merged_does_not_wait_for_the_walk_that_it_joined) {
    compare({{{2, 1}, 100'000, {{0, 4, 0}, {page, 4, 1000}, {2 * page, 4, 2000}, {3 * page - 4, 8, 3000}}}});
}

BOOST_AUTO_TEST_CASE(random_accesses_over_several_pages_take_the_time_of_the_plain_event_model) {
    std::mt19937 random(34);
    std::vector<scenario> scenarios;
    for (unsigned i = 0; i < 2000; i++)
        scenarios.push_back(random_scenario(random));
    compare(std::move(scenarios));
}

// While page 0 is walked for, its last four bytes are mapped elsewhere: the walk is repeated and finds less than
// before.
BOOST_AUTO_TEST_CASE(a_page_that_a_change_divides_under_its_walk_is_accessed_in_all_its_parts) {
    scenario s{{2, 1}, 100'000, {}};
    bench b("bench", s);
    const transfer over{page - 8, 16, 0};
    std::uint64_t end_ps = 0;
    sc_core::sc_spawn([&] {
        b.map();
        sc_core::wait(from_ps(first_start_ps) - sc_core::sc_time_stamp());
        b.make(over, end_ps);
    });
    sc_core::sc_spawn([&] {
        sc_core::wait(from_ps(first_start_ps + 50'000));
        b.map({page - 4, 1 << 24, 4});
    });
    sc_core::sc_start();
    const std::uint64_t first = (1 << 20) + page - 8;
    const decltype(b.behind.accesses) expected{{first, 4}, {1 << 24, 4}, {first + 8, 8}};
    BOOST_CHECK(b.behind.accesses == expected);
    BOOST_CHECK_EQUAL(end_ps, first_start_ps + 900'000); // two walks, the second reads a list of regions too
}
