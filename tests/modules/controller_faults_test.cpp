// Page faults that memory controllers serve: kernels on a platform that touch pages together, their bytes, blocks and
// mappings, and what the host has to do.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "test_initiator.hpp"
#include "tlmalloc/modules/npu.hpp"

#include <deque>
#include <map>

using namespace tlmalloc;
using namespace test_initiator;

namespace {

const std::uint64_t page = 4096, pages_each = 3;

// How programs touch pages: pages of their own, the same pages in the same order, or each from its own place on.
enum class touches { own, same, turned };

struct bench {
    explicit bench(std::vector<std::string> settings) {
        for (const char *key :
             {"mmu.page_size=4 KiB", "hbm.capacity_per_cube=16 MiB", "va.size=64 MiB", "mmu.unmapped=demand"})
            settings.insert(settings.begin(), key);
        std::vector<const char *> overrides;
        for (const std::string &text : settings)
            overrides.push_back(text.c_str());
        BOOST_REQUIRE_EQUAL(tla_config_load(nullptr, overrides.data(), overrides.size(), &config, nullptr, nullptr),
                            TLA_OK);
        platform = std::make_unique<npu>(sc_core::sc_gen_unique_name("npu"), config, kernel_table{kernels, 1});
    }

    // Programs write numbers of their own into pages; program p writes 256 B at p * 256 of each page.
    static tla_status write_pages(tl_context *tl) {
        const std::uint32_t program = tl_program_id(tl, TL_ALL);
        const auto how = static_cast<touches>(tl_argument(tl, 1));
        const std::uint64_t programs = tl_argument(tl, 2),
                            all = how == touches::own ? programs * pages_each : pages_each;
        tl_tile tile{};
        tla_status status = tl_alloc(tl, 1, 64, TL_F32, &tile);
        for (std::uint64_t i = 0; i < pages_each && !status; i++) {
            const std::uint64_t number = how == touches::own    ? program * pages_each + i
                                         : how == touches::same ? i
                                                                : (i + program) % all;
            status = tl_fill(tl, &tile, static_cast<float>(1 + program * 16 + number));
            const std::uint64_t at = number * page + program % 16 * 256;
            if (!status) status = tl_store(tl, {tl_argument(tl, 0) + at}, 256, &tile);
        }
        const tla_status freed = tl_free(tl, &tile);
        return status ? status : freed;
    }
    static const tl_kernel kernels[1];

    std::size_t pes() const { return platform->pes().size(); }

    std::uint64_t statistic_of(const char *wanted) const {
        std::uint64_t sum = 0;
        for (const pe_unit *pe : platform->pes())
            for (const statistics_group &group : pe->controller.list_statistics())
                for (const statistic &s : group.statistics)
                    if (std::string(s.name) == wanted) sum += s.value;
        return sum;
    }
    std::uint64_t faults() const {
        std::uint64_t sum = 0;
        for (const pe_unit *pe : platform->pes())
            sum += pe->mmu.get_statistics().demand_faults;
        return sum;
    }

    tensor *make(std::uint64_t pages, tla_memory_kind memory = TLA_HBM) {
        runtime::sharding where = platform->host().everywhere();
        where.kind = spread::demand;
        where.memory = memory;
        tensor *made = nullptr; // its last page is shorter
        BOOST_REQUIRE_MESSAGE(platform->host().create_tensor("t", (pages * page - 1024) / 4, 4, where, &made, &error) ==
                                  TLA_OK,
                              error.text);
        return made;
    }

    // A launch in a thread of its own.
    class background {
      public:
        background(bench &of, std::uint64_t va, touches how) {
            sc_core::sc_spawn([this, &of, va, how] {
                status_ = of.platform->host().launch(0, {va, static_cast<std::uint64_t>(how), of.pes()}, nullptr);
                over_ = true;
                ended_.notify(sc_core::SC_ZERO_TIME);
            });
        }
        tla_status status() const {
            if (!over_) sc_core::wait(ended_);
            return status_;
        }

      private:
        mutable sc_core::sc_event ended_;
        tla_status status_ = TLA_OK;
        bool over_ = false;
    };

    // Creates a tensor, runs the kernel, checks the bytes, and frees all; returns when the launch ended.
    std::uint64_t job(touches how, tla_memory_kind memory = TLA_HBM) {
        const std::uint64_t all = (how == touches::own ? pes() : 1) * pages_each;
        tensor *const t = make(all, memory);
        const tla_status ran =
            platform->host().launch(0, {t->va.value, static_cast<std::uint64_t>(how), pes()}, &error);
        BOOST_CHECK_MESSAGE(ran == TLA_OK, error.text);
        const std::uint64_t end = to_ps(sc_core::sc_time_stamp());
        BOOST_CHECK_EQUAL(t->shards.size(), all);
        check_bytes(*t, how);
        BOOST_CHECK_MESSAGE(platform->host().cleanup(&error) == TLA_OK, error.text);
        return end;
    }
    void check_bytes(const tensor &t, touches how) {
        std::vector<float> found(t.nbytes / 4);
        BOOST_REQUIRE_EQUAL(platform->host().read_tensor(t, reinterpret_cast<std::uint8_t *>(found.data()), &error),
                            TLA_OK);
        std::vector<float> expected(found.size());
        for (std::uint32_t program = 0; program < pes(); program++)
            for (std::uint64_t i = 0; i < pages_each; i++) {
                const std::uint64_t number = how == touches::own ? program * pages_each + i : i;
                for (std::uint64_t k = 0; k < 64; k++) {
                    const std::uint64_t at = (number * page + program % 16 * 256) / 4 + k;
                    if (at < expected.size()) expected[at] = static_cast<float>(1 + program * 16 + number);
                }
            }
        BOOST_CHECK(found == expected);
    }

    void run(std::function<void()> what) {
        platform->host().main = [this, what] {
            what();
            finished = true;
        };
    }

    bool finished = false;
    tla_config config{};
    std::unique_ptr<npu> platform;
    tla_error error{};
};
const tl_kernel bench::kernels[1] = {write_pages};

std::vector<std::string> with_pes(unsigned pes, std::vector<std::string> more = {}) {
    more.push_back("system.sips=1");
    more.push_back("system.cube_mesh_width=1");
    more.push_back("system.cube_mesh_height=1");
    more.push_back("system.pes_per_cube=" + std::to_string(pes));
    return more;
}

std::vector<std::string> served_by(const char *who, unsigned pes, std::vector<std::string> more = {}) {
    more.push_back(std::string("mmu.fault_handler=") + who);
    return with_pes(pes, more);
}

// All benches run in one simulation.
void start(std::deque<bench> &all) {
    sc_core::sc_report_handler::set_handler(keep_report);
    sc_core::sc_start();
    for (const bench &b : all)
        BOOST_CHECK(b.finished);
}

void simulate(std::deque<bench> &all) {
    start(all);
    for (const bench &b : all)
        BOOST_CHECK_EQUAL(b.platform->leaks(), 0u);
}

} // namespace

BOOST_AUTO_TEST_CASE(kernels_that_fault_together_get_every_page_once_from_controllers) {
    std::deque<bench> all;
    for (const unsigned pes : {1u, 2u, 8u})
        for (const touches how : {touches::own, touches::same, touches::turned}) {
            bench &b = all.emplace_back(served_by("controller", pes));
            b.run([&b, how] {
                b.job(how);
                b.job(how); // the addresses are used once more
            });
        }
    simulate(all);
    auto b = all.begin();
    for (const unsigned pes : {1u, 2u, 8u})
        for (const touches how : {touches::own, touches::same, touches::turned}) {
            BOOST_CHECK_EQUAL(b->statistic_of("given_pages"), 2 * pages_each * (how == touches::own ? pes : 1));
            BOOST_CHECK_EQUAL(b->statistic_of("passed_on_faults"), 0u);
            BOOST_CHECK_EQUAL(b->statistic_of("given_bytes"), 0u);
            BOOST_CHECK_EQUAL(b->statistic_of("collided_pages") > 0, how != touches::own && pes > 1);
            ++b;
        }
    for (const std::string &report : reports())
        BOOST_ERROR(report);
}

BOOST_AUTO_TEST_CASE(a_controller_serves_a_fault_in_a_fraction_of_the_hosts_time) {
    std::deque<bench> all;
    std::map<std::string, std::uint64_t> end;
    for (const char *who : {"host", "controller"}) {
        bench &b = all.emplace_back(served_by(who, 8));
        b.run([&b, &end, who] { end[who] = b.job(touches::own); });
    }
    simulate(all);
    BOOST_TEST_MESSAGE("host " << end["host"] << " ps, controller " << end["controller"] << " ps");
    BOOST_CHECK_GT(end["host"], 20 * end["controller"]);
}

BOOST_AUTO_TEST_CASE(an_exhausted_pool_leaves_the_other_pages_to_the_host) {
    std::deque<bench> all;
    bench &b = all.emplace_back(served_by("controller", 2, {"mmu.fault_pool=8 KiB"}));
    b.run([&b] { b.job(touches::own); });
    simulate(all);
    BOOST_CHECK_EQUAL(b.statistic_of("given_pages"), 4u);
    BOOST_CHECK_EQUAL(b.statistic_of("exhausted_faults"), 2u);
    BOOST_CHECK_EQUAL(b.statistic_of("passed_on_faults"), 2u);
    BOOST_CHECK(reports().empty());
}

BOOST_AUTO_TEST_CASE(pages_lie_in_the_tcm_of_the_pe_that_touches_them_or_are_the_hosts) {
    std::deque<bench> all;
    for (const tla_memory_kind memory : {TLA_TCM, TLA_SRAM}) {
        bench &b = all.emplace_back(served_by("controller", 2));
        b.run([&b, memory] { b.job(touches::own, memory); });
    }
    simulate(all);
    BOOST_CHECK_EQUAL(all[0].statistic_of("given_pages"), 2 * pages_each);
    BOOST_CHECK_EQUAL(all[0].statistic_of("passed_on_faults"), 0u);
    BOOST_CHECK_EQUAL(all[1].statistic_of("given_pages"), 0u);
    BOOST_CHECK_EQUAL(all[1].statistic_of("passed_on_faults"), 2 * pages_each);
}

BOOST_AUTO_TEST_CASE(faults_beside_every_kind_of_list_walk_and_front_leak_nothing) {
    const std::vector<std::vector<std::string>> settings{
        {"mmu.walk=memory"},
        {"mmu.walk=flat", "mmu.ranges=4"},
        {"controller.free_list=hbm"},
        {"controller.guard=report"},
        {"controller.hbm_policy=caching_pool"},
        {"controller.hbm_policy=buddy", "controller.cost.profile=fw_buddy"},
        {"host.pool=caching_pool", "host.driver=per_device"},
        {"faults.plan=refuse rate=200000", "host.retries=100"},
        {"mmu.asids=4", "workload.asid=3"},
        {"system.sips=2"}};
    std::deque<bench> all;
    for (const std::vector<std::string> &more : settings)
        for (const touches how : {touches::own, touches::turned}) {
            std::vector<std::string> keys = served_by("controller", 4);
            keys.insert(keys.end(), more.begin(), more.end());
            bench &b = all.emplace_back(keys);
            b.run([&b, how] {
                b.job(how);
                b.job(how);
            });
        }
    simulate(all);
    for (std::size_t i = 0; i < all.size(); i++)
        BOOST_CHECK_MESSAGE(all[i].statistic_of("given_pages") > 0, settings[i / 2][0]);
}

// Faults arrive while the tensor is freed: each is served before, or fails.
BOOST_AUTO_TEST_CASE(a_tensor_that_is_freed_while_its_pages_are_touched_leaves_nothing) {
    std::deque<bench> all;
    std::uint64_t failed = 0, given = 0;
    for (std::uint64_t after_ps = 0; after_ps < 6'000'000; after_ps += 150'000) {
        bench &b = all.emplace_back(served_by("controller", 4));
        b.run([&b, &failed, after_ps] {
            host &h = b.platform->host();
            tensor *const t = b.make(4 * pages_each);
            const bench::background launch(b, t->va.value, touches::own);
            sc_core::wait(from_ps(after_ps + 1));
            BOOST_CHECK_MESSAGE(h.free_tensor(t, &b.error) == TLA_OK, b.error.text);
            failed += launch.status() != TLA_OK;
            BOOST_CHECK_MESSAGE(h.cleanup(&b.error) == TLA_OK, b.error.text);
        });
    }
    simulate(all);
    for (const bench &b : all)
        given += b.statistic_of("given_pages");
    BOOST_TEST_MESSAGE(failed << " launches failed, " << given << " pages were given");
    BOOST_CHECK(failed > 5 && given > 10);
}

// A reset of the whole platform at any moment: the next job is that of a new platform.
BOOST_AUTO_TEST_CASE(a_reset_at_any_step_of_a_fault_makes_the_platform_new) {
    std::deque<bench> all;
    bench &b = all.emplace_back(served_by("controller", 4));
    b.run([&b] {
        for (std::uint64_t after_ps = 0; after_ps < 6'000'000; after_ps += 97'000) {
            const bench::background launch(b, b.make(pages_each)->va.value, touches::turned);
            sc_core::wait(from_ps(after_ps + 1));
            b.platform->reset();
            b.platform->wait_for_reset();
            launch.status();
            BOOST_CHECK_EQUAL(b.platform->leaks(), 0u);
        }
        b.job(touches::turned);
    });
    simulate(all);
}

// The host, or a controller, is reset alone while pages are given: the launch ends, and the next job finds its pages.
BOOST_AUTO_TEST_CASE(a_reset_of_the_host_or_of_a_controller_alone_ends_what_it_has_delegated) {
    std::deque<bench> all;
    for (const bool of_host : {true, false})
        for (std::uint64_t after_ps = 100'000; after_ps < 5'000'000; after_ps += 400'000) {
            bench &b = all.emplace_back(served_by("controller", 4));
            b.run([&b, of_host, after_ps] {
                host &h = b.platform->host();
                const bench::background launch(b, b.make(4 * pages_each)->va.value, touches::own);
                sc_core::wait(from_ps(after_ps));
                memory_controller &controller = b.platform->pes()[1]->controller;
                if (of_host)
                    h.reset();
                else
                    controller.reset();
                h.wait_for_reset();
                controller.wait_for_reset();
                launch.status();
                sc_core::wait(from_ps(100'000'000)); // faults that were passed on end
                if (!of_host) h.cleanup(nullptr);    // some blocks have gone
                tensor *const next = b.make(4 * pages_each);
                BOOST_CHECK_EQUAL(h.launch(0, {next->va.value, 0, 4}, &b.error), TLA_OK);
                b.check_bytes(*next, touches::own);
                BOOST_CHECK_EQUAL(h.free_tensor(next, &b.error), TLA_OK);
            });
        }
    start(all);
}

// A PE without memory: the host states the cause, as without delegation.
BOOST_AUTO_TEST_CASE(a_fault_without_memory_is_explained_by_the_host) {
    std::deque<bench> all;
    std::map<std::string, std::string> text;
    for (const char *who : {"host", "controller"}) {
        bench &b = all.emplace_back(served_by(who, 2, {"hbm.capacity_per_cube=16 KiB"}));
        b.run([&b, &text, who] {
            host &h = b.platform->host();
            const tensor *const t = b.make(2 * pages_each);
            const bench::background launch(b, t->va.value, touches::own);
            BOOST_CHECK_EQUAL(launch.status(), TLA_BUS_ERROR);
            text[who] = h.why_no_page({0, 0, 0}, t->va.value, t->va.value + t->nbytes);
            text[who] = text[who].substr(0, text[who].find(" (correlation"));
            BOOST_CHECK_EQUAL(h.cleanup(&b.error), TLA_OK);
        });
    }
    simulate(all);
    BOOST_CHECK_EQUAL(text["controller"], text["host"]);
    BOOST_CHECK_MESSAGE(text["host"].find("HBM of sip0.cube0.pe0 overflow") == 0, text["host"]);
}
