// Transactions in order of arrival: by hand, and against a reference that moves every flit for itself.
#include "plain_once.hpp"
#include "tlmalloc/base/event_queue.h"

#include <boost/test/unit_test.hpp>

#include <list>
#include <memory>
#include <random>

namespace {

constexpr std::uint64_t GB = 1'000'000'000;

struct destroy {
    void operator()(tla_fabric *f) const { tla_fabric_destroy(f); }
    void operator()(tla_event_queue *q) const { tla_event_queue_destroy(q); }
    void operator()(tla_transaction *t) const { tla_transaction_destroy(t); }
};

// What a module does: it keeps the fabric's time, issues the accesses of flows, and answers what is there.
class driver {
  public:
    driver(const std::vector<tla_fabric_node> &nodes, const std::vector<tla_fabric_link> &links, std::uint32_t flit,
           std::uint64_t window = UINT64_MAX, bool posted = false)
        : window_(window), posted_(posted) {
        tla_fabric *made = nullptr;
        BOOST_REQUIRE_EQUAL(tla_fabric_create(nodes.data(), static_cast<std::uint32_t>(nodes.size()), links.data(),
                                              links.size(), flit, &made),
                            TLA_OK);
        fabric.reset(made);
        tla_event_queue *queue = nullptr;
        BOOST_REQUIRE_EQUAL(tla_event_queue_create(&queue), TLA_OK);
        events_.reset(queue);
        const tla_fabric_host host = {this, post, arrived};
        tla_fabric_set_host(made, &host);
        const tla_fabric_watch watch = {this, [](void *self, const tla_fabric_passage *p) {
                                            std::vector<tla_fabric_load> &seen = static_cast<driver *>(self)->watched;
                                            seen.resize(std::max<std::size_t>(seen.size(), p->link + 1));
                                            BOOST_REQUIRE_LE(p->arrival_ps + p->waited_ps, p->start_ps);
                                            seen[p->link].busy_ps += p->end_ps - p->start_ps;
                                            seen[p->link].waited_ps += p->waited_ps;
                                            seen[p->link].nbytes += p->nbytes;
                                            seen[p->link].messages += p->opens;
                                        }};
        tla_fabric_set_watch(made, &watch);
    }

    std::vector<std::uint64_t> run(const std::vector<plain::flow> &flows) {
        flows_ = flows;
        for (unsigned f = 0; f < flows.size(); f++) {
            running &r = running_.emplace_back();
            tla_transaction *made = nullptr;
            BOOST_REQUIRE_EQUAL(tla_transaction_create(window_, posted_, &made), TLA_OK);
            r.transaction.reset(made);
            for (unsigned a = 0; a < flows[f].accesses.size(); a++)
                all_.push_back({this, &r, f, a, false, {}});
        }
        for (access &a : all_)
            at(flows[a.flow].accesses[a.number].issued, 0, a.flow, issue, &a);
        for (tla_event e; tla_event_queue_take(events_.get(), &e);) {
            now_ = e.at_ps;
            e.action(e.context, e.at_ps);
        }
        std::vector<std::uint64_t> ends;
        for (const running &r : running_) {
            BOOST_CHECK_EQUAL(r.answered, flows[ends.size()].accesses.size());
            ends.push_back(r.end_ps);
        }
        return ends;
    }

    std::unique_ptr<tla_fabric, destroy> fabric;
    std::vector<tla_fabric_load> watched; // what was told of every link

  private:
    struct running {
        std::unique_ptr<tla_transaction, destroy> transaction;
        std::uint64_t end_ps = 0, answered = 0;
    };
    struct access {
        driver *self;
        running *of;
        unsigned flow, number;
        bool there;
        tla_fabric_access crossing;
    };

    void at(std::uint64_t at_ps, std::uint32_t resource, std::uint32_t port, tla_event_action action, void *context) {
        BOOST_REQUIRE_GE(at_ps, now_);
        const tla_event e = {at_ps, resource, port, action, context};
        BOOST_REQUIRE_EQUAL(tla_event_queue_post(events_.get(), &e), TLA_OK);
    }

    static void issue(void *context, std::uint64_t at_ps) {
        access &a = *static_cast<access *>(context);
        const plain::flow &f = a.self->flows_[a.flow];
        tla_transaction_issue(a.of->transaction.get(), a.number + 1 == f.accesses.size());
        a.crossing = {f.from, f.to, 7, f.write, a.of->transaction.get(), nullptr, nullptr};
        BOOST_REQUIRE_EQUAL(tla_fabric_enter_request(a.self->fabric.get(), &a.crossing,
                                                     f.write ? f.accesses[a.number].nbytes : 0, at_ps, a.flow, &a),
                            TLA_OK);
    }

    static void post(void *context, std::uint64_t at_ps, std::uint32_t node, std::uint64_t input, tla_flit *flit) {
        driver &d = *static_cast<driver *>(context);
        const auto port = static_cast<std::uint32_t>(input < std::uint64_t{1} << 32 ? input : 1'000'000 + input);
        d.at(
            at_ps, 1 + node, port,
            [](void *f, std::uint64_t now) { tla_fabric_arrive(static_cast<tla_flit *>(f), now); }, flit);
    }

    static void arrived(void *context, void *tag, std::uint64_t at_ps) {
        driver &d = *static_cast<driver *>(context);
        BOOST_REQUIRE_GE(at_ps, d.now_);
        access &a = *static_cast<access *>(tag);
        const plain::flow &f = d.flows_[a.flow];
        if (a.there) {
            a.of->answered++;
            a.of->end_ps = std::max(a.of->end_ps, at_ps);
            return;
        }
        a.there = true;
        const auto input = static_cast<std::uint32_t>(d.flows_.size() + a.flow);
        BOOST_REQUIRE_EQUAL(tla_fabric_enter_answer(d.fabric.get(), &a.crossing,
                                                    f.write ? 0 : f.accesses[a.number].nbytes, at_ps + f.served, input,
                                                    &a),
                            TLA_OK);
    }

    const std::uint64_t window_;
    const bool posted_;
    std::unique_ptr<tla_event_queue, destroy> events_;
    std::vector<plain::flow> flows_;
    std::list<running> running_;
    std::list<access> all_;
    std::uint64_t now_ = 0;
};

// `count` accesses of 256 bytes, one a nanosecond.
plain::flow stream(std::uint32_t from, std::uint32_t to, bool write, unsigned count, std::uint64_t served) {
    plain::flow f{from, to, write, served, {}};
    for (unsigned i = 0; i < count; i++)
        f.accesses.push_back({i * 1000ull, 256});
    return f;
}

// KernBench's PE, the router next to it and the controller of its slice: 256 GB/s, a router takes 2 ns.
const std::vector<tla_fabric_node> local_nodes = {{0, false}, {2000, false}, {0, false}};
const std::vector<tla_fabric_link> local_links = {
    {0, 1, 0, 256 * GB, 0}, {1, 0, 0, 256 * GB, 0}, {1, 2, 0, 256 * GB, 0}, {2, 1, 0, 256 * GB, 0}};

} // namespace

BOOST_AUTO_TEST_CASE(sixteen_kibibytes_to_the_own_slice_take_77_ns) {
    // KernBench: 64 flits of 1 ns, 1 ns for the second hop, 8 ns of the controller, and the router twice
    driver d(local_nodes, local_links, 256);
    BOOST_CHECK_EQUAL(d.run({stream(0, 2, true, 64, 8000)}).front(), 77'000u);
}

BOOST_AUTO_TEST_CASE(a_transfer_that_is_alone_puts_its_bytes_on_every_link_and_waits_for_none) {
    // The second link is slower, so that flits queue up behind each other, and a node collects and lets go all at once.
    std::vector<tla_fabric_link> links = local_links;
    links[2].bandwidth_bytes_per_s = 64 * GB;
    for (const bool store : {false, true}) {
        driver d({{0, false}, {2000, store}, {0, false}}, links, 256);
        d.run({stream(0, 2, true, 64, 8000)});
        for (const std::uint32_t link : {0u, 2u}) {
            const tla_fabric_load load = tla_fabric_link_load(d.fabric.get(), link);
            BOOST_CHECK_EQUAL(load.nbytes, 64u * 256);
            BOOST_CHECK_EQUAL(load.messages, 64u);
            BOOST_CHECK_EQUAL(load.busy_ps, 64u * 256 * 1000 / (links[link].bandwidth_bytes_per_s / GB));
            BOOST_CHECK_EQUAL(load.waited_ps, 0u);
        }
        for (const std::uint32_t link : {1u, 3u}) { // the acknowledgement
            const tla_fabric_load load = tla_fabric_link_load(d.fabric.get(), link);
            BOOST_CHECK_EQUAL(load.nbytes + load.busy_ps + load.waited_ps, 0u);
            BOOST_CHECK_EQUAL(load.messages, 1u);
        }
    }
}

BOOST_AUTO_TEST_CASE(two_transfers_that_share_a_link_wait_for_each_other) {
    // Both bring a flit a nanosecond to a link that takes one a nanosecond, so that they take turns and the queue
    // grows.
    const std::vector<tla_fabric_link> links = {{0, 2, 0, 256 * GB, 0}, {2, 0, 0, 256 * GB, 0}, {1, 2, 0, 256 * GB, 0},
                                                {2, 1, 0, 256 * GB, 0}, {2, 3, 0, 256 * GB, 0}, {3, 2, 0, 256 * GB, 0}};
    driver d({{0, false}, {0, false}, {0, false}, {0, false}}, links, 256);
    d.run({stream(0, 3, true, 3, 0), stream(1, 3, true, 3, 0)});
    const tla_fabric_load shared = tla_fabric_link_load(d.fabric.get(), 4);
    BOOST_CHECK_EQUAL(shared.nbytes, 6u * 256);
    BOOST_CHECK_EQUAL(shared.busy_ps, 6000u);
    // Arrivals 1 1 2 2 3 3 ns, starts 1 2 3 4 5 6 ns.
    BOOST_CHECK_EQUAL(shared.waited_ps, (0u + 1 + 1 + 2 + 2 + 3) * 1000);
    for (const std::uint32_t own : {0u, 2u}) {
        BOOST_CHECK_EQUAL(tla_fabric_link_load(d.fabric.get(), own).nbytes, 3u * 256);
        BOOST_CHECK_EQUAL(tla_fabric_link_load(d.fabric.get(), own).waited_ps, 0u);
    }
}

BOOST_AUTO_TEST_CASE(a_posted_write_ends_with_its_data) {
    driver d(local_nodes, local_links, 256, UINT64_MAX, true);
    BOOST_CHECK_EQUAL(d.run({stream(0, 2, true, 64, 8000)}).front(), 75'000u);
}

BOOST_AUTO_TEST_CASE(a_read_sends_one_request_and_pays_the_overhead_of_its_data_once) {
    // the request takes 2 ns, the slice 8 ns; 64 flits of 1 ns, of which the first waits 2 ns in the router and so all
    // do, since they come as fast as links take them; 1 ns for the second hop
    driver d(local_nodes, local_links, 256);
    BOOST_CHECK_EQUAL(d.run({stream(0, 2, false, 64, 8000)}).front(), 2000u + 8000 + 64'000 + 2000 + 1000);
}

BOOST_AUTO_TEST_CASE(a_node_that_stores_and_forwards_waits_for_the_whole_transaction) {
    const std::vector<tla_fabric_node> nodes = {{0, false}, {5000, true}, {0, false}};
    driver d(nodes, local_links, 256);
    // 64 ns until all are there, 5 ns, 64 ns again, 8 ns; the acknowledgement pays the 5 ns too
    BOOST_CHECK_EQUAL(d.run({stream(0, 2, true, 64, 8000)}).front(), 64'000u + 5000 + 64'000 + 8000 + 5000);
}

BOOST_AUTO_TEST_CASE(a_store_continues_after_a_full_window) {
    const std::vector<tla_fabric_node> nodes = {{0, false}, {0, true}, {0, false}};
    driver d(nodes, local_links, 256, 16);
    BOOST_CHECK_EQUAL(d.run({stream(0, 2, true, 64, 0)}).front(), 64'000u + 16'000); // the last 16 are sent again
}

BOOST_AUTO_TEST_CASE(an_access_that_is_lost_is_not_waited_for) {
    const std::vector<tla_fabric_node> nodes = {{0, false}, {0, true}, {0, false}};
    driver d(nodes, local_links, 256);
    tla_transaction *t = nullptr;
    BOOST_REQUIRE_EQUAL(tla_transaction_create(64, false, &t), TLA_OK);
    const std::unique_ptr<tla_transaction, destroy> owner(t);
    struct world {
        std::vector<std::pair<std::uint64_t, tla_flit *>> posted;
        std::vector<std::uint64_t> there;
    } w;
    const tla_fabric_host host = {
        &w,
        [](void *context, std::uint64_t at_ps, std::uint32_t, std::uint64_t, tla_flit *flit) {
            static_cast<world *>(context)->posted.push_back({at_ps, flit});
        },
        [](void *context, void *, std::uint64_t at_ps) { static_cast<world *>(context)->there.push_back(at_ps); }};
    tla_fabric_set_host(d.fabric.get(), &host);
    const auto let_go = [&] {
        while (!w.posted.empty()) {
            const auto [at_ps, flit] = w.posted.front();
            w.posted.erase(w.posted.begin());
            tla_fabric_arrive(flit, at_ps);
        }
    };
    tla_transaction_issue(t, false);
    tla_transaction_issue(t, true);
    tla_fabric_access a = {0, 2, 0, true, t, nullptr, nullptr};
    BOOST_REQUIRE_EQUAL(tla_fabric_enter_request(d.fabric.get(), &a, 256, 0, 0, &w), TLA_OK);
    let_go();
    BOOST_CHECK(w.there.empty()); // the other one may come yet
    tla_transaction_lose(t, 50'000);
    let_go();
    BOOST_REQUIRE_EQUAL(w.there.size(), 1u);
    BOOST_CHECK_EQUAL(w.there.front(), 51'000u);
    BOOST_REQUIRE_EQUAL(tla_fabric_enter_answer(d.fabric.get(), &a, 0, 51'000, 0, &w), TLA_OK);
    let_go();
    BOOST_CHECK_EQUAL(w.there.size(), 2u);
}

// Every link against the reference, and what a watcher adds up against the links.
static void check_loads(unsigned seed, const plain::fabric &expected, const driver &d, std::size_t links) {
    for (std::uint32_t i = 0; i < links; i++) {
        const tla_fabric_load got = tla_fabric_link_load(d.fabric.get(), i), want = expected.load(i);
        BOOST_REQUIRE_MESSAGE(got.nbytes == want.nbytes && got.messages == want.messages,
                              "seed " << seed << ": link " << i << " carried " << got.nbytes << " bytes");
        BOOST_REQUIRE_MESSAGE(got.busy_ps == want.busy_ps, "seed " << seed << ": link " << i << " was busy");
        BOOST_REQUIRE_MESSAGE(got.waited_ps == want.waited_ps, "seed " << seed << ": link " << i << " was waited for "
                                                                       << got.waited_ps << " ps, expected "
                                                                       << want.waited_ps);
        const tla_fabric_load seen = i < d.watched.size() ? d.watched[i] : tla_fabric_load{};
        BOOST_REQUIRE_EQUAL(seen.busy_ps, got.busy_ps);
        BOOST_REQUIRE_EQUAL(seen.waited_ps, got.waited_ps);
        BOOST_REQUIRE_EQUAL(seen.nbytes, got.nbytes);
        BOOST_REQUIRE_EQUAL(seen.messages, got.messages);
    }
}

// A random graph, with transactions at random times.
struct random_case {
    explicit random_case(unsigned seed) {
        std::mt19937_64 random(seed);
        const auto pick = [&](std::uint64_t n) { return random() % n; };
        flit = std::uint32_t{64} << pick(3);
        nodes.resize(3 + pick(14));
        for (tla_fabric_node &n : nodes)
            n = {pick(3) ? pick(10'000) : 0, pick(6) == 0, static_cast<std::uint32_t>(pick(3))};
        const auto both = [&](std::uint64_t a, std::uint64_t b) {
            tla_fabric_link l{static_cast<std::uint32_t>(a),
                              static_cast<std::uint32_t>(b),
                              pick(3) * pick(1000),
                              (16 + pick(500)) * GB,
                              pick(20),
                              pick(20)};
            links.push_back(l);
            std::swap(l.from, l.to);
            links.push_back(l);
        };
        for (std::uint64_t i = 1; i < nodes.size(); i++)
            both(i, pick(i));
        for (std::uint64_t i = 0; i < nodes.size() / 2; i++)
            both(pick(nodes.size()), pick(nodes.size()));
        const std::size_t counts[] = {1, 2, 8, 30};
        flows.resize(counts[pick(4)]);
        for (plain::flow &f : flows) {
            f.from = static_cast<std::uint32_t>(pick(nodes.size()));
            do
                f.to = static_cast<std::uint32_t>(pick(nodes.size()));
            while (f.to == f.from);
            f.write = pick(2);
            f.served = pick(20'000);
            std::uint64_t at = pick(20'000);
            for (std::uint64_t i = 1 + pick(20); i > 0; i--) {
                f.accesses.push_back({at, 1 + pick(4 * flit)});
                at += pick(2000);
            }
        }
    }

    std::uint32_t flit;
    std::vector<tla_fabric_node> nodes;
    std::vector<tla_fabric_link> links;
    std::vector<plain::flow> flows;
};

static void check_ends(unsigned seed, const std::vector<std::uint64_t> &got, const std::vector<std::uint64_t> &want) {
    for (std::size_t i = 0; i < want.size(); i++)
        BOOST_REQUIRE_MESSAGE(got[i] == want[i], "seed " << seed << ": flow " << i << " ends at " << got[i]
                                                         << " ps, expected " << want[i]);
}

// To the picosecond.
BOOST_AUTO_TEST_CASE(random_flows_end_when_the_reference_says) {
    for (unsigned seed = 1; seed <= 1000; seed++) {
        const random_case c(seed);
        plain::fabric expected(c.nodes, c.links, c.flit);
        driver d(c.nodes, c.links, c.flit);
        check_ends(seed, d.run(c.flows), expected.run(c.flows));
        check_loads(seed, expected, d, c.links.size());
    }
}

BOOST_AUTO_TEST_CASE(data_that_occupy_links_once_end_when_their_own_reference_says) {
    for (unsigned seed = 1; seed <= 1000; seed++) {
        const random_case c(seed);
        plain::once expected(c.nodes, c.links);
        driver d(c.nodes, c.links, c.flit);
        tla_fabric_set_transport(d.fabric.get(), TLA_TRANSPORT_ONCE);
        check_ends(seed, d.run(c.flows), expected.run(c.flows));
        for (std::uint32_t i = 0; i < c.links.size(); i++)
            BOOST_REQUIRE_EQUAL(tla_fabric_link_load(d.fabric.get(), i).busy_ps, expected.busy_ps[i]);
    }
}

// An access has at most the latency of its path and its bytes on the narrowest link, whatever it is cut into.
BOOST_AUTO_TEST_CASE(data_that_are_alone_pay_the_narrowest_link_of_their_path_once) {
    std::vector<tla_fabric_link> links = local_links;
    links[2].bandwidth_bytes_per_s = 64 * GB;
    for (const unsigned count : {1u, 64u}) {
        driver d({{0, false}, {2000, true}, {0, false}}, links,
                 256); // a node that stores and forwards does not collect
        tla_fabric_set_transport(d.fabric.get(), TLA_TRANSPORT_ONCE);
        std::uint64_t alone_ps = 0;
        BOOST_REQUIRE_EQUAL(tla_fabric_alone(d.fabric.get(), 0, 2, count * 256, &alone_ps), TLA_OK);
        BOOST_CHECK_EQUAL(alone_ps, 2000u + count * 4000);
        BOOST_CHECK_EQUAL(d.run({stream(0, 2, true, count, 0)}).front(), alone_ps + 2000); // and the acknowledgement
    }
    // KernBench's 128 and 256 B in the own cube: n / 256 + 4 with two routers.
    const std::vector<tla_fabric_node> two_routers = {{0, false}, {2000, false}, {2000, false}, {0, false}};
    const std::vector<tla_fabric_link> between = {{0, 1, 0, 256 * GB, 0}, {1, 0, 0, 256 * GB, 0},
                                                  {1, 2, 0, 256 * GB, 0}, {2, 1, 0, 256 * GB, 0},
                                                  {2, 3, 0, 256 * GB, 0}, {3, 2, 0, 256 * GB, 0}};
    driver d(two_routers, between, 256);
    tla_fabric_set_transport(d.fabric.get(), TLA_TRANSPORT_ONCE);
    std::uint64_t half_ps = 0, full_ps = 0;
    tla_fabric_alone(d.fabric.get(), 0, 3, 128, &half_ps);
    tla_fabric_alone(d.fabric.get(), 0, 3, 256, &full_ps);
    BOOST_CHECK_EQUAL(half_ps, 4500u);
    BOOST_CHECK_EQUAL(full_ps, 5000u);
}
