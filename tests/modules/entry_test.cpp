// Where foreign initiators enter: whoever waits, annotates or uses the four phases sees the same times.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "bare.hpp"
#include "tlmalloc/testing/initiator.hpp"

#include <boost/test/unit_test.hpp>
#include <numeric>
#include <random>
#include <sstream>

using namespace tlmalloc;

namespace {

const std::uint64_t slice_bytes = 1 << 16;

struct step {
    bool write;
    unsigned slice;
    std::uint64_t offset;
    unsigned nbytes;
    std::uint64_t pause_ps;
};
using program = std::vector<step>;

// Few addresses and few pauses, so that accesses meet each other and arrive at equal times.
program random_program(std::mt19937 &random, unsigned steps) {
    program result;
    for (unsigned i = 0; i < steps; i++) {
        const auto nbytes = static_cast<unsigned>(1 + random() % (random() % 4 ? 64 : 1000));
        result.push_back({random() % 2 == 0, static_cast<unsigned>(random() % 2), random() % (slice_bytes - nbytes),
                          nbytes, random() % 3 ? 0 : random() % 8 * 1000 + random() % 2});
    }
    return result;
}

enum class manner { waits, annotates, phases };

// A foreign initiator that makes one access after the other.
class foreigner : public sc_core::sc_module {
  public:
    testing::initiator from{"from"};

    foreigner(sc_core::sc_module_name name, manner how, program steps, std::uint64_t start_ps)
        : sc_module(name), how_(how), steps_(std::move(steps)), start_ps_(start_ps) {
        if (how == manner::phases) from.style = testing::coding::approximately_timed;
        TLMALLOC_HAS_PROCESS(foreigner);
        SC_THREAD(run);
    }

    // Of every access when its answer is there, from the start on, and what it has read.
    struct seen {
        std::uint64_t at_ps, sum;
        bool operator==(const seen &other) const { return at_ps == other.at_ps && sum == other.sum; }
    };
    std::vector<seen> answers;
    std::uint64_t waited_ps = 0; // time of the kernel that went by in calls
    bool is_done = false;

  private:
    void run() {
        sc_core::wait(from_ps(start_ps_));
        sc_core::sc_time delay;
        for (const step &s : steps_) {
            delay += from_ps(s.pause_ps);
            if (how_ == manner::waits) catch_up_with(delay);
            std::vector<std::uint8_t> bytes(s.nbytes, static_cast<std::uint8_t>(answers.size()));
            tla_paddr pa{};
            tla_paddr_pe_hbm(0, 0, s.slice, s.offset, slice_bytes, &pa);
            tlm::tlm_generic_payload &payload = from.make(s.write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND,
                                                          pa.value, bytes.data(), bytes.size());
            const std::uint64_t before_ps = to_ps(sc_core::sc_time_stamp());
            from.transport(payload, delay);
            waited_ps += to_ps(sc_core::sc_time_stamp()) - before_ps;
            BOOST_CHECK(payload.is_response_ok());
            from.give_back(payload);
            answers.push_back({local_ps(delay) - start_ps_, std::accumulate(bytes.begin(), bytes.end(), 0ul)});
            if (how_ == manner::waits) catch_up_with(delay);
        }
        is_done = true;
    }

    const manner how_;
    const program steps_;
    const std::uint64_t start_ps_;
};

// Two controllers with their slices. Foreign initiators reach them by a fabric, those of odd numbers through an MMU
// that leads there.
class target : public sc_core::sc_module {
  public:
    std::vector<std::unique_ptr<foreigner>> foreigners;

    target(sc_core::sc_module_name name, const std::vector<program> &programs, const std::vector<manner> &manners,
           const char *timing, std::uint64_t start_ps)
        : sc_module(name), fabric_("fabric", fabric_of(programs.size())) {
        for (unsigned i = 0; i < 2; i++) {
            controllers_.push_back(
                std::make_unique<memory_controller>(("controller" + std::to_string(i)).c_str(), controller_of(i)));
            slices_.push_back(std::make_unique<hbm_slice>(("slice" + std::to_string(i)).c_str(), slice_of(timing)));
            controllers_.back()->slice.bind(slices_.back()->in);
            fabric_.out.bind(controllers_.back()->in);
            commands_.push_back(std::make_unique<testing::initiator>(("commands" + std::to_string(i)).c_str()));
            commands_.back()->out.bind(controllers_.back()->control);
        }
        for (std::size_t i = 0; i < programs.size(); i++) {
            const std::string number = std::to_string(i);
            foreigners.push_back(
                std::make_unique<foreigner>(("foreigner" + number).c_str(), manners[i], programs[i], start_ps));
            if (i % 2 == 0) {
                foreigners.back()->from.out.bind(fabric_.in);
                continue;
            }
            pe_mmu::config settings = bare<pe_mmu>();
            settings.unmapped = TLA_UNMAPPED_PA_FALLBACK;
            settings.overhead_ps = 700;
            mmus_.push_back(std::make_unique<pe_mmu>(("mmu" + number).c_str(), settings));
            commands_.push_back(std::make_unique<testing::initiator>(("mappings" + number).c_str()));
            commands_.back()->out.bind(mmus_.back()->control);
            foreigners.back()->from.out.bind(mmus_.back()->in);
            mmus_.back()->out.bind(fabric_.in);
        }
    }

    // Until the end of elaboration.
    void look_ahead(const sc_core::sc_time &at_most) {
        fabric_.in.look_ahead(at_most);
        for (const auto &mmu : mmus_)
            mmu->in.look_ahead(at_most);
    }
    const instrumented &fabric() const { return fabric_; }

    bool is_done() const {
        return std::all_of(foreigners.begin(), foreigners.end(), [](const auto &f) { return f->is_done; });
    }

  private:
    static memory_controller::config controller_of(unsigned pe) {
        memory_controller::config c = bare<memory_controller>();
        c.memory.pe = pe;
        c.memory.of[TLA_HBM].bytes = slice_bytes;
        c.memory.of[TLA_TCM].bytes = c.memory.of[TLA_TCM].reserved = 0;
        c.latency_ps = 300;
        return c;
    }
    static hbm_slice::config slice_of(const char *timing) {
        hbm_slice::config c = bare<hbm_slice>();
        c.capacity = slice_bytes;
        c.pseudo_channels = 4;
        if (timing) BOOST_REQUIRE_EQUAL(tla_timing_named(timing, &c.timing.emplace()), TLA_OK);
        return c;
    }
    // A router between the initiators and the two slices.
    static interconnect::config fabric_of(std::size_t initiators) {
        interconnect::config f = bare<interconnect>();
        const auto count = static_cast<std::uint32_t>(initiators);
        f.nodes.resize(3 + count);
        f.nodes[0].overhead_ps = 2000;
        for (std::uint32_t node = 1; node < 3 + count; node++) {
            f.links.push_back({node, 0, 1000, 64'000'000'000, 0, 0});
            f.links.push_back({0, node, 1000, 64'000'000'000, 0, 0});
        }
        for (std::uint32_t i = 0; i < 2; i++) {
            tla_paddr pa{};
            tla_paddr_pe_hbm(0, 0, i, 0, slice_bytes, &pa);
            f.targets.push_back(1 + i);
            f.windows.push_back({pa.value, slice_bytes, i, false});
        }
        for (std::uint32_t i = 0; i < count; i++)
            f.sources.push_back(3 + i);
        return f;
    }

    interconnect fabric_;
    std::vector<std::unique_ptr<memory_controller>> controllers_;
    std::vector<std::unique_ptr<hbm_slice>> slices_;
    std::vector<std::unique_ptr<pe_mmu>> mmus_;
    std::vector<std::unique_ptr<testing::initiator>> commands_; // send none
};

void check_same(const target &expected, const target &found) {
    BOOST_REQUIRE(expected.is_done());
    BOOST_REQUIRE(found.is_done());
    for (std::size_t i = 0; i < expected.foreigners.size(); i++) {
        const auto &a = expected.foreigners[i]->answers, &b = found.foreigners[i]->answers;
        BOOST_REQUIRE_EQUAL(a.size(), b.size());
        const auto differ = std::mismatch(a.begin(), a.end(), b.begin());
        if (differ.first != a.end())
            BOOST_ERROR(found.foreigners[i]->name()
                        << ": access " << differ.first - a.begin() << " ends at " << differ.second->at_ps << " ps with "
                        << differ.second->sum << ", expected " << differ.first->at_ps << " ps with "
                        << differ.first->sum);
    }
}

// The same programs in every manner, beside each other; `slice`: of sc_start, zero: all at once.
void check_manners(const char *timing, std::uint32_t seed, const sc_core::sc_time &slice) {
    std::mt19937 random(seed);
    std::vector<std::vector<std::unique_ptr<target>>> groups;
    for (unsigned group = 0; group < 12; group++) {
        std::vector<program> programs(1 + random() % 4);
        for (program &p : programs)
            p = random_program(random, 80);
        auto &targets = groups.emplace_back();
        for (unsigned kind = 0; kind < 6; kind++) {
            std::vector<manner> manners(programs.size(), kind < 3 ? static_cast<manner>(kind) : manner::waits);
            for (manner &m : manners)
                if (kind >= 3) m = static_cast<manner>(random() % 3);
            targets.push_back(std::make_unique<target>(
                ("target" + std::to_string(group) + "_" + std::to_string(kind)).c_str(), programs, manners, timing, 0));
        }
    }
    if (slice == sc_core::SC_ZERO_TIME)
        sc_core::sc_start(1, sc_core::SC_MS);
    else
        while (sc_core::sc_time_stamp() < sc_core::sc_time(100, sc_core::SC_US))
            sc_core::sc_start(slice);
    for (const auto &targets : groups)
        for (std::size_t i = 1; i < targets.size(); i++)
            check_same(*targets[0], *targets[i]);
    BOOST_CHECK_EQUAL(time_queue::get_late().late, 0u);
}

} // namespace

BOOST_AUTO_TEST_CASE(initiators_that_wait_annotate_or_use_phases_see_the_same_times) {
    check_manners(nullptr, 351, sc_core::SC_ZERO_TIME);
}
BOOST_AUTO_TEST_CASE(initiators_that_wait_annotate_or_use_phases_see_the_same_times_with_banks) {
    check_manners("hbm3", 352, sc_core::SC_ZERO_TIME);
}
BOOST_AUTO_TEST_CASE(initiators_see_the_same_times_where_the_simulation_is_started_in_slices) {
    check_manners("hbm2", 353, sc_core::sc_time(333, sc_core::SC_NS));
}

// One after the other: nothing else is due while an initiator makes its accesses.
BOOST_AUTO_TEST_CASE(a_call_of_an_initiator_that_is_alone_does_not_wait) {
    std::mt19937 random(354);
    const std::vector<program> programs{random_program(random, 200)};
    const std::uint64_t apart_ps = 100'000'000;
    std::vector<std::unique_ptr<target>> targets;
    for (unsigned i = 0; i < 3; i++)
        targets.push_back(std::make_unique<target>(("target" + std::to_string(i)).c_str(), programs,
                                                   std::vector<manner>{static_cast<manner>(i)}, nullptr, i * apart_ps));
    sc_core::sc_start(1, sc_core::SC_MS);
    for (const auto &t : targets) {
        check_same(*targets[0], *t);
        BOOST_REQUIRE_LT(t->foreigners[0]->answers.back().at_ps, apart_ps);
    }
    BOOST_CHECK_EQUAL(targets[0]->foreigners[0]->waited_ps, 0u); // it waits after its calls, not in them
    BOOST_CHECK_EQUAL(targets[1]->foreigners[0]->waited_ps, 0u);
}

BOOST_AUTO_TEST_CASE(late_operations_are_counted_with_their_sum_and_the_worst) {
    time_queue &queue = time_queue::of_simulation();
    sc_core::sc_report_handler::set_actions("/tlmalloc/time/late", sc_core::SC_DO_NOTHING);
    sc_core::sc_start(100, sc_core::SC_NS);
    for (const std::uint64_t at_ps : {100'000u, 90'000u, 99'000u, 110'000u})
        BOOST_CHECK_EQUAL(queue.admit(at_ps), std::max<std::uint64_t>(at_ps, 100'000));
    BOOST_CHECK_EQUAL(time_queue::get_late().late, 2u);
    BOOST_CHECK_EQUAL(time_queue::get_late().displaced_ps, 11'000u);
    BOOST_CHECK_EQUAL(time_queue::get_late().worst_ps, 10'000u);
}

BOOST_AUTO_TEST_CASE(an_entry_that_looks_ahead_serves_and_counts_late_accesses) {
    std::mt19937 random(355);
    std::vector<program> programs(4);
    for (program &p : programs)
        p = random_program(random, 200);
    target ahead("ahead", programs, std::vector<manner>(4, manner::annotates), nullptr, 0);
    ahead.look_ahead(sc_core::sc_time(1, sc_core::SC_US));
    sc_core::sc_report_handler::set_actions("/tlmalloc/time/late", sc_core::SC_DO_NOTHING);
    sc_core::sc_start(1, sc_core::SC_MS);
    BOOST_REQUIRE(ahead.is_done());
    const time_queue::late_figures order = time_queue::get_late();
    BOOST_CHECK_GT(order.late, 10u);
    BOOST_CHECK_GE(order.displaced_ps, order.worst_ps);
    BOOST_CHECK_GT(order.worst_ps, 0u);
    BOOST_CHECK_LT(order.worst_ps, 1'100'000u); // the look-ahead, and what the access that used it takes
    BOOST_CHECK_EQUAL(sc_core::sc_report_handler::get_count("/tlmalloc/time/late"), 1);
    std::ostringstream table;
    ahead.fabric().print_statistics(table);
    BOOST_CHECK(table.str().find("displaced_ps") != std::string::npos);
    for (const auto &f : ahead.foreigners)
        for (std::size_t i = 1; i < f->answers.size(); i++)
            BOOST_CHECK_GE(f->answers[i].at_ps, f->answers[i - 1].at_ps);
}

BOOST_AUTO_TEST_CASE(an_entry_may_look_ahead_to_the_end_of_time) {
    std::mt19937 random(356);
    std::vector<program> programs(4);
    for (program &p : programs)
        p = random_program(random, 50);
    target ahead("ahead", programs, std::vector<manner>(4, manner::annotates), nullptr, 1000);
    ahead.look_ahead(sc_core::sc_max_time());
    sc_core::sc_report_handler::set_actions("/tlmalloc/time/late", sc_core::SC_DO_NOTHING);
    sc_core::sc_start(1, sc_core::SC_MS);
    BOOST_REQUIRE(ahead.is_done());
    for (const auto &f : ahead.foreigners)
        BOOST_CHECK_EQUAL(f->waited_ps, 0u);
}

// Times are 64 bits of picoseconds, and what an access takes must have room behind its delay.
BOOST_AUTO_TEST_CASE(an_access_after_the_end_of_time_gets_an_error_response) {
    tcm memory("memory", bare<tcm>());
    testing::initiator from("from");
    from.out.bind(memory.in);
    bool is_done = false;
    sc_core::sc_spawn([&] {
        sc_core::wait(from_ps(7));
        std::vector<std::uint8_t> bytes(64);
        const sc_core::sc_time end = sc_core::sc_max_time(), now = sc_core::sc_time_stamp();
        const auto read = [&](testing::coding style, const sc_core::sc_time &ahead) {
            from.style = style;
            tlm::tlm_generic_payload &payload = from.make(tlm::TLM_READ_COMMAND, 0, bytes.data(), bytes.size());
            sc_core::sc_time delay = ahead;
            from.transport(payload, delay);
            const std::string answer = payload.get_response_string();
            from.give_back(payload);
            return answer;
        };
        const sc_core::sc_time last = from_ps(end_of_accesses_ps) - now;
        for (const auto style : {testing::coding::loosely_timed, testing::coding::approximately_timed}) {
            for (const sc_core::sc_time &ahead :
                 {end, end - from_ps(1), end - now, end - now - from_ps(1), last + from_ps(1)}) {
                BOOST_CHECK_EQUAL(read(style, ahead), "TLM_GENERIC_ERROR_RESPONSE");
                BOOST_CHECK_EQUAL(sc_core::sc_time_stamp(), now);
            }
            BOOST_CHECK_EQUAL(read(style, sc_core::SC_ZERO_TIME), "TLM_OK_RESPONSE");
        }
        BOOST_CHECK_EQUAL(read(testing::coding::loosely_timed, from_ps(end_of_accesses_ps) - sc_core::sc_time_stamp()),
                          "TLM_OK_RESPONSE");
        is_done = true;
    });
    sc_core::sc_start();
    BOOST_CHECK(is_done);
    BOOST_CHECK_EQUAL(time_queue::get_late().late, 0u);
}

BOOST_AUTO_TEST_CASE(a_call_from_a_method_that_would_block_reports_that_it_needs_a_thread) {
    tcm::config config = bare<tcm>();
    config.latency_ps = 1000;
    tcm memory("memory", config);
    testing::initiator from("from");
    from.out.bind(memory.in);
    sc_core::sc_report_handler::set_actions("/tlmalloc/time/thread", sc_core::SC_DO_NOTHING);
    const auto read = [&] {
        std::vector<std::uint8_t> bytes(64);
        tlm::tlm_generic_payload &payload = from.make(tlm::TLM_READ_COMMAND, 0, bytes.data(), bytes.size());
        sc_core::sc_time delay;
        from.out->b_transport(payload, delay);
        const bool is_ok = payload.is_response_ok();
        from.give_back(payload);
        return is_ok;
    };
    const sc_core::sc_time alone(100, sc_core::SC_NS), beside(1, sc_core::SC_US); // something is due behind the latter
    std::vector<bool> answers;
    sc_core::sc_spawn_options method;
    method.spawn_method();
    sc_core::sc_spawn(
        [&] {
            const sc_core::sc_time now = sc_core::sc_time_stamp();
            if (now > sc_core::SC_ZERO_TIME) answers.push_back(read());
            if (now < beside) sc_core::next_trigger((now < alone ? alone : beside) - now);
        },
        "method", &method);
    sc_core::sc_spawn([&] { sc_core::wait(beside + from_ps(1)); });
    sc_core::sc_start(10, sc_core::SC_US);
    BOOST_REQUIRE_EQUAL(answers.size(), 2u);
    BOOST_CHECK(answers[0]);
    BOOST_CHECK(!answers[1]);
    BOOST_CHECK_EQUAL(sc_core::sc_report_handler::get_count("/tlmalloc/time/thread"), 1);
}
