// A PE's memory, its guard and free list, memories, fabric, plans, configurations and waveforms on a host without
// memory: a call that fails has done nothing, and can be made again.
#include "host_memory/owner.hpp"

#include "model/base/sparse_bytes.h"
#include "tlmalloc/command/control_port.h"
#include "tlmalloc/command/host_driver.h"
#include "tlmalloc/config.h"
#include "tlmalloc/dram/channels.h"
#include "tlmalloc/fabric/fabric.h"
#include "tlmalloc/memory/controller.h"
#include "tlmalloc/memory/object_store.h"
#include "tlmalloc/memory/pe_memory.h"
#include "tlmalloc/plan/plan.h"
#include "tlmalloc/plan/views.h"
#include "tlmalloc/topology/topology.h"
#include "tlmalloc/wave.h"
#include "traffic/traffic.h"

#include <cstdio>
#include <unistd.h>
#include <vector>

using namespace host_memory;

namespace {

constexpr std::uint64_t MiB = 1 << 20;

const auto look = [](auto &object) { return object.look(); };

std::string look_at(const tla_arena *arena) {
    const tla_arena_stats s = tla_arena_get_stats(arena);
    std::string text = line(s.capacity, s.used, s.peak_used, s.largest_free, s.free_blocks);
    std::vector<tla_block> blocks(s.free_blocks);
    tla_arena_free_blocks(arena, 0, blocks.data(), blocks.size());
    for (tla_block block : blocks)
        text += line(block.offset, block.nbytes);
    return text;
}

tla_pe_memory_config guarded() {
    tla_pe_memory_config config{};
    config.of[TLA_HBM].bytes = 64 * MiB;
    config.of[TLA_TCM].bytes = MiB;
    config.of[TLA_HBM].policy = TLA_BEST_FIT;
    config.guarded = true;
    config.guard_history = 8;
    return config;
}

struct memory {
    memory() {
        const tla_pe_memory_config config = guarded();
        BOOST_REQUIRE_EQUAL(tla_pe_memory_create(&config, &pe.made), TLA_OK);
        BOOST_REQUIRE_EQUAL(tla_pe_memory_follow(pe.made, TLA_HBM, 1000, 4), TLA_OK);
        for (int i = 0; i < 125; i++)
            BOOST_REQUIRE_EQUAL(alloc(TLA_HBM, 4096), TLA_OK);
        for (std::size_t i = 0; i < 123; i += 2) // every next one is a new node of the list
            BOOST_REQUIRE_EQUAL(free(i), TLA_OK);
    }
    tla_status alloc(tla_memory_kind kind, std::uint64_t nbytes) {
        tla_paddr pa{};
        const tla_status status = tla_pe_memory_alloc(pe.made, kind, nbytes, &pa, &work);
        if (!status) blocks.push_back(pa);
        return status;
    }
    tla_status free(std::size_t which) { return tla_pe_memory_free(pe.made, blocks[which], 4096, &work); }
    std::string look() const {
        std::size_t accesses = 0;
        tla_list_in_memory_accesses(tla_pe_memory_traffic(pe.made, TLA_HBM), &accesses);
        return look_at(tla_pe_memory_arena(pe.made, TLA_HBM)) + look_at(tla_pe_memory_arena(pe.made, TLA_TCM)) +
               line(accesses, blocks.size(), work.nodes_visited, work.list_length, work.splits, work.merges);
    }

    owner<tla_pe_memory, tla_pe_memory_destroy> pe;
    std::vector<tla_paddr> blocks;
    tla_work work{};
};

} // namespace

BOOST_AUTO_TEST_CASE(a_topology_and_the_time_of_a_path) {
    tla_topology_shape shape;
    tla_topology_defaults(&shape);
    shape.sips = 2;
    for (const tla_routing routing : {TLA_ROUTE_STRAIGHT, TLA_ROUTE_SHORTEST}) {
        shape.routing = routing;
        check_creation<owner<tla_topology, tla_topology_destroy>>(
            "tla_topology_of_shape", [&](tla_topology **made) { return tla_topology_of_shape(&shape, made, nullptr); });
    }
    struct terms {
        tla_path_terms got{};
        std::string look() const { return line(got.end_ps); }
    };
    const tla_path_hop hops[] = {{0, false, 0, 1}, {0, true, 0, 0}};
    const std::size_t allocations = exhaust(
        "tla_path_terms_of", [] { return std::make_unique<terms>(); },
        [&](terms &t) {
            tla_path_terms got{};
            const tla_status status = tla_path_terms_of(hops, 2, 256, 4096, &got);
            if (!status) t.got = got;
            return status;
        },
        look);
    BOOST_CHECK_EQUAL(allocations, 1u);
}

BOOST_AUTO_TEST_CASE(a_pes_memory_gives_and_takes_with_guard_and_list_or_not_at_all) {
    const tla_pe_memory_config config = guarded();
    check_creation<owner<tla_pe_memory, tla_pe_memory_destroy>>(
        "pe_memory", [&](tla_pe_memory **made) { return tla_pe_memory_create(&config, made); });
    const auto make = [] { return std::make_unique<memory>(); };
    exhaust(
        "alloc", make, [](memory &m) { return m.alloc(TLA_HBM, 4096); }, look);
    exhaust(
        "alloc of more", make, [](memory &m) { return m.alloc(TLA_HBM, 8192); }, look);
    exhaust(
        "alloc in TCM", make, [](memory &m) { return m.alloc(TLA_TCM, 4096); }, look);
    BOOST_CHECK_GT(exhaust(
                       "free", make, [](memory &m) { return m.free(124); }, look),
                   0u);
    BOOST_CHECK_GT(exhaust(
                       "follow", make, [](memory &m) { return tla_pe_memory_follow(m.pe.made, TLA_TCM, 64, 2); }, look),
                   0u);
    const auto guards_need_nothing = [](memory &m) {
        const tla_guard_access write{true, 4096, 64, 64, nullptr, 0, TLA_WHO_UNKNOWN, 0};
        const tla_status status = tla_pe_memory_look(m.pe.made, TLA_HBM, &write, nullptr);
        tla_pe_memory_note(m.pe.made, TLA_HBM, &write);
        return status;
    };
    BOOST_CHECK_EQUAL(exhaust("look", make, guards_need_nothing, look), 0u);
}

namespace {

// A store with blocks of 4 KiB: the first is counted and shared, the last is neither.
struct objects {
    objects() {
        const tla_pe_memory_config config = guarded();
        BOOST_REQUIRE_EQUAL(tla_pe_memory_create(&config, &pe.made), TLA_OK);
        BOOST_REQUIRE_EQUAL(tla_object_store_create(pe.made, TLA_VICTIM_LRU, nullptr, &store.made), TLA_OK);
        while (blocks.size() < 12) // the next one grows the table
            BOOST_REQUIRE_EQUAL(alloc(), TLA_OK);
        for (std::uint32_t asid : {2u, 3u})
            BOOST_REQUIRE_EQUAL(tla_object_ref(store.made, blocks[0], tla_who(asid, 0), nullptr, &work), TLA_OK);
    }
    tla_status alloc() {
        tla_site at{};
        const tla_stack_request request{4096, 0, TLA_FORMAT_UNDEFINED};
        tla_status status = tla_object_prepare(store.made, 1);
        if (!status) status = tla_pe_memory_take(pe.made, TLA_HBM, &request, &at, &work);
        if (status) return status;
        tla_object_enter(store.made, at, request.nbytes, tla_who(1, 0));
        blocks.push_back(at);
        return TLA_OK;
    }
    std::string look() const {
        const tla_object_stats s = tla_object_store_get_stats(store.made, TLA_HBM);
        std::string text = look_at(tla_pe_memory_arena(pe.made, TLA_HBM)) + line(s.references, s.pins, blocks.size());
        for (const tla_site &at : blocks) {
            tla_object_counts counts{};
            tla_object_look(store.made, at, &counts);
            text += line(counts.references, counts.pins);
        }
        return text;
    }

    owner<tla_pe_memory, tla_pe_memory_destroy> pe;
    owner<tla_object_store, tla_object_store_destroy> store;
    std::vector<tla_site> blocks;
    tla_work work{};
};

} // namespace

BOOST_AUTO_TEST_CASE(a_store_of_objects_counts_or_has_done_nothing) {
    const tla_pe_memory_config config = guarded();
    owner<tla_pe_memory, tla_pe_memory_destroy> pe;
    BOOST_REQUIRE_EQUAL(tla_pe_memory_create(&config, &pe.made), TLA_OK);
    check_creation<owner<tla_object_store, tla_object_store_destroy>>("object_store", [&](tla_object_store **made) {
        return tla_object_store_create(pe.made, TLA_VICTIM_LRU, nullptr, made);
    });
    const auto make = [] { return std::make_unique<objects>(); };
    const auto takes = [&](const char *what, auto call) { BOOST_CHECK_GT(exhaust(what, make, call, look), 0u); };
    takes("alloc", [](objects &o) { return o.alloc(); });
    takes("ref of a block that is not counted",
          [](objects &o) { return tla_object_ref(o.store.made, o.blocks[5], tla_who(2, 0), nullptr, &o.work); });
    takes("ref by one more context", [](objects &o) {
        tla_object_ref(o.store.made, o.blocks[0], tla_who(4, 0), nullptr, &o.work); // four holders fill the room
        const tla_status status = tla_object_ref(o.store.made, o.blocks[0], tla_who(5, 0), nullptr, &o.work);
        tla_object_unref(o.store.made, o.blocks[0], tla_who(4, 0), nullptr, &o.work);
        return status;
    });
    takes("pin",
          [](objects &o) { return tla_object_pin(o.store.made, o.blocks[5], tla_who(2, 0), 0, 10, nullptr, &o.work); });
    takes("batch", [](objects &o) {
        const tla_stack_request request{4096, 0, TLA_FORMAT_UNDEFINED};
        std::vector<tla_placed_block> taken(3);
        const tla_status status = tla_object_alloc_batch(o.store.made, TLA_HBM, &request, 3, TLA_BATCH_CARVED,
                                                         tla_who(1, 0), taken.data(), &o.work);
        for (std::size_t i = 0; i < 3 && !status; i++)
            o.blocks.push_back(tla_pe_memory_find_site(tla_pe_memory_get_config(o.pe.made), taken[i].pa));
        return status;
    });
    takes("free of a batch", [](objects &o) {
        const tla_site sites[] = {o.blocks[7], o.blocks[5], o.blocks[9]};
        const tla_placed_block given[] = {{sites[0].pa, 4096}, {sites[1].pa, 4096}, {sites[2].pa, 4096}};
        std::size_t freed = 0, failed = 0;
        return tla_object_free_batch(o.store.made, sites, given, 3, tla_who(1, 0), &freed, &failed, &o.work);
    });
    const auto put = [](objects &o) {
        const tla_site entered[] = {o.blocks[7], o.blocks[8]};
        const tla_mem_object_meta meta{};
        bool added = false;
        return tla_object_put(o.store.made, 5, &meta, entered, 2, &added, &o.work);
    };
    takes("put", put);
    takes("unref of a block that is not counted",
          [](objects &o) { return tla_object_unref(o.store.made, o.blocks[4], tla_who(1, 0), nullptr, &o.work); });
}

// The choice of all victims needs host memory. The frees behind it are those of a REMOVE.
BOOST_AUTO_TEST_CASE(a_share_of_objects_is_evicted_later_if_victims_cannot_be_noted) {
    objects o;
    const tla_mem_object_meta meta{};
    bool added = false;
    for (std::uint64_t key = 0; key < 5; key++) {
        const tla_site &at = o.blocks[key + 1];
        BOOST_REQUIRE_EQUAL(tla_object_put(o.store.made, key, &meta, &at, 1, &added, &o.work), TLA_OK);
        BOOST_REQUIRE_EQUAL(tla_object_unref(o.store.made, at, tla_who(1, 0), nullptr, &o.work), TLA_OK);
    }
    const std::string before = o.look();
    std::uint64_t evicted = 0;
    fail_from(0, true);
    const tla_status status = tla_object_evict_share(o.store.made, TLA_HBM, 400, &evicted, &o.work);
    BOOST_CHECK_EQUAL(stop(), 1u);
    BOOST_CHECK_EQUAL(status, TLA_NO_HOST_MEMORY);
    BOOST_CHECK_EQUAL(evicted, 0u);
    BOOST_CHECK_EQUAL(o.look(), before);
    BOOST_CHECK_EQUAL(tla_object_evict_share(o.store.made, TLA_HBM, 400, &evicted, &o.work), TLA_OK);
    BOOST_CHECK_EQUAL(evicted, 2u);
}

BOOST_AUTO_TEST_CASE(a_controller_has_all_its_memories_or_none) {
    tla_controller_config config{};
    config.memory = guarded();
    config.free_list = TLA_LIST_SRAM;
    config.list_reserve = 4096;
    config.node_cache = 4;
    config.owner_port = TLA_CONTROLLER_NO_OWNER;
    using controller = owner<tla_controller, tla_controller_destroy>;
    const auto create = [&](tla_controller **made) { return tla_controller_create(&config, made); };
    check_creation<controller>("controller", create);
    const auto make = [&] {
        auto c = std::make_unique<controller>();
        BOOST_REQUIRE_EQUAL(create(&c->made), TLA_OK);
        return c;
    };
    const auto memories = [](controller &c) {
        return std::string(tla_controller_memory(c.made) ? "memories" : "no memory");
    };
    BOOST_CHECK_GT(exhaust(
                       "begin", make, [](controller &c) { return tla_controller_begin(c.made); }, memories),
                   0u);
    const auto check = [&](controller &) {
        tla_error error{};
        const tla_status status = tla_controller_check_config(&config, &error);
        BOOST_CHECK_EQUAL(error.status, status);
        return status;
    };
    BOOST_CHECK_GT(exhaust("check", make, check, memories), 0u);
}

BOOST_AUTO_TEST_CASE(memories_and_channels_that_cannot_be_made_are_none) {
    struct bytes {
        ~bytes() { tla_sparse_bytes_destroy(made, MiB); }
        std::uint8_t *made = nullptr;
    };
    check_creation<bytes>("sparse_bytes", [](std::uint8_t **made) { return tla_sparse_bytes_create(MiB, made); });
    check_creation<owner<tla_flat_channels, tla_flat_channels_destroy>>("channels", [](tla_flat_channels **made) {
        const tla_flat_channels_config config{8, 256, 8000, 0, 0};
        return tla_flat_channels_create(&config, made);
    });
    check_creation<owner<tla_host_driver, tla_host_driver_destroy>>("host_driver", [](tla_host_driver **made) {
        const tla_host_driver_parameters parameters{TLA_HOST_DRIVER_PER_DEVICE, 1, 1, false};
        return tla_host_driver_create(&parameters, 4, made);
    });
    tla_banked_channels_config config{};
    BOOST_REQUIRE_EQUAL(tla_timing_named("hbm2", &config.timing), TLA_OK);
    config.count = 8;
    config.capacity = 512 * MiB;
    check_creation<owner<tla_banked_channels, tla_banked_channels_destroy>>(
        "hbm_channels", [&](tla_banked_channels **made) {
            tla_error error{};
            const tla_status status = tla_banked_channels_create(&config, made, &error);
            BOOST_CHECK_EQUAL(error.status, status);
            return status;
        });
}

BOOST_AUTO_TEST_CASE(traffic_is_made_and_runs_whole_or_not_at_all) {
    static tla_hbm_config timing; // large
    BOOST_REQUIRE_EQUAL(tla_timing_named("hbm2", &timing), TLA_OK);
    struct traffic {
        ~traffic() {
            tla_traffic_free(&accesses);
            tla_traffic_result_free(&result);
        }
        std::string look() const { return line(accesses.count, result.stats.reads, result.stats.last_end_ps); }
        tla_traffic accesses{};
        tla_traffic_result result{};
    };
    const auto generate = [](traffic &t) {
        const tla_traffic_geometry geometry{32, 1024, 16384, 1u << 28, 16000000000};
        return tla_traffic_generate(TLA_TRAFFIC_TILE_P8K, 1, 500, 32, &geometry, &t.accesses);
    };
    const auto make = [] { return std::make_unique<traffic>(); };
    BOOST_CHECK_GT(exhaust("generate", make, generate, look), 0u);
    const auto ready = [&] {
        auto t = make();
        BOOST_REQUIRE_EQUAL(generate(*t), TLA_OK);
        return t;
    };
    BOOST_CHECK_GT(exhaust(
                       "run", ready,
                       [](traffic &t) {
                           std::size_t bad = 0;
                           tla_error error{};
                           return tla_traffic_run(&timing, &t.accesses, &t.result, &bad, &error);
                       },
                       look),
                   2u);
}

BOOST_AUTO_TEST_CASE(a_fabric_sends_nothing_when_it_cannot_keep_the_paths) {
    static const tla_fabric_node nodes[] = {{0, false}, {10, true}, {0, false}};
    static const tla_fabric_link links[] = {{0, 1, 1000, 1'000'000'000, 0},
                                            {1, 2, 1000, 1'000'000'000, 0},
                                            {2, 1, 1000, 1'000'000'000, 0},
                                            {1, 0, 1000, 1'000'000'000, 0}};
    check_creation<owner<tla_fabric, tla_fabric_destroy>>(
        "fabric", [&](tla_fabric **made) { return tla_fabric_create(nodes, 3, links, 4, 64, made); });
    check_creation<owner<tla_transaction, tla_transaction_destroy>>(
        "transaction", [&](tla_transaction **made) { return tla_transaction_create(1, false, made); });
    struct fabric {
        fabric() {
            BOOST_REQUIRE_EQUAL(tla_fabric_create(nodes, 3, links, 4, 64, &graph.made), TLA_OK);
            BOOST_REQUIRE_EQUAL(tla_transaction_create(1, false, &transaction.made), TLA_OK);
            tla_transaction_issue(transaction.made, true);
            access.transaction = transaction.made;
            const tla_fabric_host at_once = {
                this,
                [](void *, std::uint64_t at, std::uint32_t, std::uint64_t, tla_flit *f) { tla_fabric_arrive(f, at); },
                [](void *, void *self, std::uint64_t at) { static_cast<fabric *>(self)->arrival_ps = at; }};
            tla_fabric_set_host(graph.made, &at_once);
        }
        ~fabric() {
            if (entered) tla_fabric_enter_answer(graph.made, &access, 0, arrival_ps, 0, this);
        }
        std::string look() const {
            std::string text;
            for (std::size_t link = 0; link < 4; link++) {
                const tla_fabric_load load = tla_fabric_link_load(graph.made, link);
                text += line(load.nbytes, load.busy_ps, arrival_ps);
            }
            return text;
        }
        owner<tla_fabric, tla_fabric_destroy> graph;
        owner<tla_transaction, tla_transaction_destroy> transaction;
        tla_fabric_access access{0, 2, 0, true, nullptr, nullptr, nullptr};
        std::uint64_t arrival_ps = 0;
        bool entered = false;
    };
    const auto make = [&] { return std::make_unique<fabric>(); };
    const auto enter = [](fabric &f) {
        const tla_status status = tla_fabric_enter_request(f.graph.made, &f.access, 100, 5, 0, &f);
        f.entered = status == TLA_OK;
        return status;
    };
    BOOST_CHECK_GT(exhaust("enter", make, enter, look), 0u);
}

BOOST_AUTO_TEST_CASE(plans_are_written_whole_or_not_at_all) {
    std::vector<tla_lifetime> tensors;
    for (std::uint64_t i = 0; i < 60; i++)
        tensors.push_back({i * 7 % 50, i * 7 % 50 + 1 + i % 9, 100 + i * 31 % 70});
    struct plan {
        std::string look() const {
            std::string text = line(nbytes, method);
            for (std::uint64_t offset : offsets)
                text += line(offset);
            return text;
        }
        std::vector<std::uint64_t> offsets = std::vector<std::uint64_t>(60);
        std::uint64_t nbytes = 0;
        tla_plan_method method = TLA_PLAN_METHOD_COUNT;
    };
    const auto make = [] { return std::make_unique<plan>(); };
    const tla_plan_options options{0, 64, false};
    for (int method = 0; method < TLA_PLAN_METHOD_COUNT; method++)
        BOOST_CHECK_GT(exhaust(
                           tla_plan_method_name(static_cast<tla_plan_method>(method)), make,
                           [&](plan &p) {
                               return tla_plan(static_cast<tla_plan_method>(method), tensors.data(), tensors.size(),
                                               &options, p.offsets.data(), &p.nbytes);
                           },
                           look),
                       1u);
    BOOST_CHECK_GT(exhaust(
                       "smaller", make,
                       [&](plan &p) {
                           return tla_plan_smaller(tensors.data(), tensors.size(), &options, p.offsets.data(),
                                                   &p.nbytes, &p.method);
                       },
                       look),
                   5u);
    BOOST_CHECK_GT(
        exhaust(
            "peak", make, [&](plan &p) { return tla_plan_peak(tensors.data(), tensors.size(), 64, &p.nbytes); }, look),
        1u);
}

BOOST_AUTO_TEST_CASE(plans_of_programs_are_written_whole_or_not_at_all) {
    const tla_lifetime tensors[] = {{0, 3, 8}, {1, 4, 8}, {2, 5, 8}, {3, 5, 16}, {4, 6, 8}};
    const tla_plan_view views[] = {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {0, 2, 0}, {2, 0, 0}};
    const std::size_t sources[] = {1, 2};
    tla_plan_program program{};
    program.tensors = tensors;
    program.views = views;
    program.sources = sources;
    program.n = 5;
    program.io_start = TLA_PLAN_ANYWHERE;
    struct plan {
        std::string look() const {
            std::string text = line(count);
            for (std::size_t i = 0; i < 5; i++)
                text += line(live[i].lower, live[i].upper, live[i].nbytes, at[i]);
            return text + line(fault.first, fault.second);
        }
        tla_lifetime live[5] = {};
        std::uint64_t at[5] = {}; // all values on each other
        std::size_t count = 0;
        tla_plan_fault fault{};
    };
    const auto make = [] { return std::make_unique<plan>(); };
    BOOST_CHECK_GT(exhaust(
                       "live", make, [&](plan &p) { return tla_plan_live(&program, p.live); }, look),
                   0u);
    BOOST_CHECK_GT(exhaust(
                       "addresses", make,
                       [&](plan &p) {
                           p.at[4] = 16; // the end of the plan
                           const tla_status status = tla_plan_addresses(&program, 24, p.at, nullptr);
                           if (status) p.at[4] = 0;
                           return status;
                       },
                       look),
                   0u);
    BOOST_CHECK_GT(
        exhaust(
            "faults", make, [&](plan &p) { return tla_plan_find_faults(&program, p.at, &p.fault, 1, &p.count); }, look),
        3u);
}

BOOST_AUTO_TEST_CASE(searches_for_a_plan_leave_nothing_half_done) {
    std::vector<tla_lifetime> tensors;
    std::vector<std::uint64_t> alignments, fixed(40, TLA_PLAN_ANYWHERE);
    for (std::uint64_t i = 0; i < 40; i++) {
        tensors.push_back({i * 7 % 50, i * 7 % 50 + 3 + i % 9, 100 + i * 31 % 70});
        alignments.push_back(i % 3 ? 1 : 16);
    }
    fixed[3] = 0;
    const tla_plan_gap gap{5, tensors[5].lower + 1, tensors[5].lower + 2};
    const tla_plan_problem problem{tensors.data(), tensors.size(), alignments.data(), fixed.data(), &gap, 1};
    struct plan {
        std::string look() const {
            std::string text = line(height, range.bound, range.height, range.nodes);
            for (std::uint64_t offset : offsets)
                text += line(offset);
            return text;
        }
        std::vector<std::uint64_t> offsets = std::vector<std::uint64_t>(40);
        std::uint64_t height = 0;
        tla_plan_range range{};
    };
    const auto make = [] { return std::make_unique<plan>(); };
    const auto exhausts = [&](const char *what, auto act, auto made) {
        BOOST_CHECK_GT(exhaust(what, made, act, look), 2u);
    };
    exhausts(
        "exact", [&](plan &p) { return tla_plan_exact(&problem, 900, nullptr, p.offsets.data(), nullptr); }, make);
    exhausts(
        "best", [&](plan &p) { return tla_plan_best(&problem, p.offsets.data(), &p.height, nullptr, nullptr); }, make);
    exhausts(
        "place",
        [&](plan &p) { return tla_plan_place(TLA_PLAN_GREEDY_CONFLICTS, &problem, p.offsets.data(), &p.height); },
        make);
    exhausts(
        "bound", [&](plan &p) { return tla_plan_bound(&problem, &p.height, nullptr, nullptr); }, make);
    const tla_plan_limits limits{500, nullptr, nullptr};
    const auto stacked = [&] {
        auto made = std::make_unique<plan>();
        BOOST_REQUIRE_EQUAL(tla_plan_place(TLA_PLAN_STACK, &problem, made->offsets.data(), &made->height), TLA_OK);
        return made;
    };
    exhausts(
        "minimize", [&](plan &p) { return tla_plan_minimize(&problem, &limits, p.offsets.data(), &p.range); }, stacked);
    exhausts(
        "check",
        [&](plan &p) {
            return tla_plan_check_problem(&problem, p.offsets.data(), TLA_PLAN_HEIGHT_MAX, nullptr, nullptr);
        },
        stacked);
}

BOOST_AUTO_TEST_CASE(a_record_table_enters_an_op_with_all_its_outputs_or_not_at_all) {
    struct records {
        records() {
            const tla_record_table_config config{4096, 4096, true};
            BOOST_REQUIRE_EQUAL(tla_record_table_create(&config, &table.made), TLA_OK);
        }
        std::string look() const {
            std::string text = line(tla_record_table_size(table.made));
            for (std::uint64_t tensor = 0; tensor < 12; tensor++) {
                std::uint64_t offset = 0;
                const tla_status status = tla_record_table_find(table.made, tensor, &offset);
                text += line(status, offset);
            }
            return text;
        }
        tla_status add(std::uint64_t first, std::size_t n) {
            std::vector<tla_op_output> outputs;
            for (std::size_t i = 0; i < n; i++)
                outputs.push_back({first + i, 1000 + i, 1});
            const std::uint64_t operand = 0;
            const tla_op op{TLA_OP_COMPUTE, &operand, 1, outputs.data(), outputs.size()};
            return tla_record_table_add(table.made, &op);
        }
        owner<tla_record_table, tla_record_table_destroy> table;
    };
    check_creation<owner<tla_record_table, tla_record_table_destroy>>("record_table", [](tla_record_table **made) {
        const tla_record_table_config config{0, 64, false};
        return tla_record_table_create(&config, made);
    });
    const auto make = [] {
        auto r = std::make_unique<records>();
        BOOST_REQUIRE_EQUAL(r->add(0, 2), TLA_OK);
        return r;
    };
    BOOST_CHECK_GT(exhaust(
                       "add", make, [](records &r) { return r.add(2, 9); }, look),
                   1u);
}

BOOST_AUTO_TEST_CASE(a_configuration_is_read_whole_or_not_at_all_and_nothing_is_found_wrong_with_it) {
    struct result {
        std::string look() const {
            std::string text = line(findings);
            tla_config_each(
                &config,
                [](void *context, const char *key, const char *value, bool, std::uint64_t) {
                    *static_cast<std::string *>(context) += std::string(key) + " " + value + "\n";
                },
                &text);
            return text;
        }
        tla_config config{};
        std::size_t findings = 0;
    };
    const auto make = [] {
        auto r = std::make_unique<result>();
        BOOST_REQUIRE_EQUAL(tla_config_load(nullptr, nullptr, 0, &r->config, nullptr, nullptr), TLA_OK);
        return r;
    };
    const auto load = [](result &r) {
        const char *const overrides[] = {"hbm.timing=hbm2", "controller.cost.node=3 ns"};
        return tla_config_load(
            TLMALLOC_SOURCE_DIR "/configs/npu_small.yaml", overrides, 2, &r.config,
            [](void *context, const tla_config_finding *) { ++*static_cast<std::size_t *>(context); }, &r.findings);
    };
    BOOST_CHECK_GT(exhaust("load", make, load, look), 20u);
    struct profile {
        std::string look() const { return line(timing.tck_ps, timing.burst_bytes); }
        tla_hbm_config timing{};
    };
    BOOST_CHECK_GT(exhaust(
                       "named", [] { return std::make_unique<profile>(); },
                       [](profile &p) { return tla_timing_named("hbm2", &p.timing); }, look),
                   5u);
}

namespace {

std::string contents(const std::string &path) {
    std::string text;
    std::FILE *file = std::fopen(path.c_str(), "r");
    for (int c; file && (c = std::fgetc(file)) != EOF;)
        text += static_cast<char>(c);
    if (file) std::fclose(file);
    return text;
}

// A recorder and its file, whose looks are what the file would be if it were closed now: a twin that is.
struct recorder {
    explicit recorder(const std::function<void(recorder &)> &how) : prepare(how) {
        BOOST_REQUIRE_EQUAL(tla_wave_open(path.c_str(), &wave, nullptr), TLA_OK);
        prepare(*this);
    }
    ~recorder() { tla_wave_close(wave, 100); }

    std::string path = TLMALLOC_BINARY_DIR "/out-of-memory-" + std::to_string(getpid()) + ".vcd";
    std::function<void(recorder &)> prepare;
    tla_wave *wave = nullptr;
    tla_wave_signal signal = 0;
};

} // namespace

BOOST_AUTO_TEST_CASE(a_waveform_has_a_signal_with_its_scopes_or_neither_and_all_changes_or_none) {
    const std::size_t before_all = live();
    const auto declare = [](recorder &r, const char *scope, const char *name) {
        return tla_wave_declare(r.wave, scope, name, 8, &r.signal, nullptr);
    };
    const auto first = [&](recorder &r) { BOOST_REQUIRE_EQUAL(declare(r, "a", "x"), TLA_OK); };
    const auto filled = [&](recorder &r) {
        first(r);
        for (std::uint64_t i = 0; i < 256; i++)
            BOOST_REQUIRE_EQUAL(tla_wave_set(r.wave, r.signal, i, i), TLA_OK);
    };
    // The ring of changes is full, and the oldest sum of x waits beside it: it has to move to the heap first.
    const auto filled_by_adding = [&](recorder &r) {
        first(r);
        tla_wave_signal other = 0;
        BOOST_REQUIRE_EQUAL(tla_wave_declare(r.wave, "a", "z", 8, &other, nullptr), TLA_OK);
        for (std::uint64_t i = 0; i < 4; i++)
            BOOST_REQUIRE_EQUAL(tla_wave_add(r.wave, r.signal, i, 1), TLA_OK);
        for (std::uint64_t i = 4; i < 256; i++)
            BOOST_REQUIRE_EQUAL(tla_wave_set(r.wave, other, i, i), TLA_OK);
        for (std::uint64_t i = 0; i < 4; i++)
            BOOST_REQUIRE_EQUAL(tla_wave_add(r.wave, r.signal, i, 2), TLA_OK);
    };
    struct {
        std::function<void(recorder &)> prepare;
        std::function<tla_status(recorder &)> act;
        std::size_t at_least;
    } const cases[] = {
        {first, [&](recorder &r) { return declare(r, "a.b.c.d", "y"); }, 4},
        {first, [&](recorder &r) { return declare(r, "e.f", "y"); }, 3},
        {[](recorder &) {},
         [&](recorder &r) {
             const tla_status selected = tla_wave_select(r.wave, "a", nullptr);
             return selected ? selected : declare(r, "a", "x");
         },
         4},
        {filled, [](recorder &r) { return tla_wave_set(r.wave, r.signal, 300, 7); }, 1},
        {filled_by_adding, [](recorder &r) { return tla_wave_add(r.wave, r.signal, 300, 7); }, 2},
    };
    for (const auto &c : cases) {
        const auto file_of = [&](bool acted) {
            std::string path;
            {
                recorder r(c.prepare);
                if (acted) BOOST_REQUIRE_EQUAL(c.act(r), TLA_OK);
                path = r.path;
            }
            return contents(path);
        };
        const std::string before = file_of(false), after = file_of(true);
        BOOST_CHECK(before != after);
        std::size_t failures = 0;
        for (bool again : {false, true})
            for (std::size_t n = 0, failed = 1; failed > 0; n++) {
                std::string path;
                {
                    recorder r(c.prepare);
                    fail_from(n, false);
                    const tla_status status = c.act(r);
                    failed = stop();
                    failures += failed > 0;
                    BOOST_CHECK_EQUAL(tla_status_name(status), tla_status_name(failed ? TLA_NO_HOST_MEMORY : TLA_OK));
                    if (failed && again) BOOST_CHECK_EQUAL(c.act(r), TLA_OK);
                    path = r.path;
                }
                BOOST_CHECK_EQUAL(contents(path), failed && !again ? before : after);
            }
        BOOST_CHECK_GE(failures, 2 * c.at_least);
    }
    const std::string path = TLMALLOC_BINARY_DIR "/out-of-memory-" + std::to_string(getpid()) + ".vcd";
    struct opened {
        ~opened() { tla_wave_close(made, 0); }
        tla_wave *made = nullptr;
    };
    check_creation<opened>("wave", [&](tla_wave **made) {
        tla_error error{};
        const tla_status status = tla_wave_open(path.c_str(), made, &error);
        BOOST_CHECK_EQUAL(error.status, status);
        return status;
    });
    std::remove(path.c_str());
    BOOST_CHECK_EQUAL(live(), before_all);
}

BOOST_AUTO_TEST_CASE(a_control_port_and_descriptors_need_no_host_memory) {
    const std::size_t before = asked();
    static tla_control_port port;
    static tla_command command;
    command.opcode = TLA_OP_MAP;
    command.target = TLA_TARGET_PE_MMU;
    command.count = TLA_COMMAND_MAX_ENTRIES;
    std::uint8_t bytes[TLA_COMMAND_MAX_BYTES];
    std::size_t length = 0;
    bool complete = false;
    BOOST_REQUIRE_EQUAL(tla_command_encode(&command, bytes, sizeof bytes, &length), TLA_OK);
    BOOST_CHECK_EQUAL(tla_control_port_write(&port, 0, bytes, static_cast<std::uint32_t>(length), &complete, nullptr),
                      TLA_OK);
    BOOST_CHECK(complete);
    BOOST_CHECK_EQUAL(tla_command_decode(port.command, port.staged, &command, nullptr), TLA_OK);
    tla_completion completion{};
    tla_control_port_complete(&port, &completion);
    BOOST_CHECK_EQUAL(asked(), before);
}
