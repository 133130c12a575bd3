// The host's memory on random platforms beside the plain event model of them: what the host's threads, the SIPs' end
// points and the PEs' DMA engines move to and from it at the same time ends at the same picosecond.
#define SC_INCLUDE_DYNAMIC_PROCESSES // sc_spawn
#include "apart.hpp"
#include "random_platform.hpp"
#include "scratch_directory.hpp"
#include "test_initiator.hpp"

#include <set>
#include <sstream>

namespace {

using namespace tlmalloc;
using namespace test_initiator;

const std::uint64_t capacity = 64 << 20; // of the host's memory (random_platform.hpp)

struct transfer {
    enum { of_host, of_tensor, of_end_point, of_pe } who;
    std::uint64_t number; // of the tensor, the SIP, the PE
    bool write;
    std::uint64_t start_ps, offset, nbytes; // start_ps: after all have been made; offset: in the memory, in the tensor
    std::uint64_t rows = 1, pitch = 0;      // of a PE, whose rows have nbytes
    bool virtual_address = false;           // of a PE: in the tensor of the host's memory
    std::uint64_t end_ps = 0;
    bool ok = false;
};

struct scenario {
    tla_config config;
    std::vector<transfer> transfers;
    std::string text;
};

std::uint64_t address(std::uint64_t offset) {
    tla_paddr pa{};
    tla_paddr_host_memory(offset, &pa);
    return pa.value;
}

std::string text_of(const transfer &t) {
    static const char *const names[] = {"the host", "the host, tensor", "the end point", "PE"};
    std::ostringstream text;
    text << names[t.who] << ' ' << t.number << (t.write ? " writes " : " reads ") << t.rows << " x " << t.nbytes
         << " by " << t.pitch << " at " << (t.virtual_address ? "va " : "") << t.offset << " from " << t.start_ps;
    return text.str();
}

// --- the modules -----------------------------------------------------------------------------------------------------

struct platform : sc_core::sc_module {
    platform(sc_core::sc_module_name name, scenario &of) : sc_module(name), s(of), parts("npu", of.config, {}) {
        parts.host().main = [this] {
            for (const tla_memory_kind memory : {TLA_HOST_MEMORY, TLA_HBM}) {
                host::sharding where = parts.host().everywhere();
                where.memory = memory;
                tensor *made = nullptr;
                check(parts.host().create_tensor("t", tensor_bytes(), 1, where, &made, &error));
            }
            sc_core::wait(100, sc_core::SC_US); // refreshes close rows
            start_ps = to_ps(sc_core::sc_time_stamp());
            for (transfer &t : s.transfers)
                sc_core::sc_spawn([this, &t] { move(t); }, sc_core::sc_gen_unique_name("mover"));
        };
    }
    std::uint64_t tensor_bytes() const { return share * parts.pes().size(); }

    void move(transfer &t) {
        sc_core::wait(from_ps(t.start_ps));
        std::vector<std::uint8_t> bytes(t.who == transfer::of_tensor ? tensor_bytes() : t.nbytes);
        tlmalloc::host &h = parts.host();
        tla_error why{}; // each its own
        sc_core::sc_time delay;
        tla_status status = TLA_OK;
        const tla_paddr pa{address(t.offset)};
        switch (t.who) {
        case transfer::of_host:
            status = t.write ? h.write_memory(pa, bytes.data(), t.nbytes, &why)
                             : h.read_memory(pa, bytes.data(), t.nbytes, &why);
            break;
        case transfer::of_tensor: {
            const tensor &which = *std::next(h.tensors().begin(), static_cast<std::ptrdiff_t>(t.number));
            status = t.write ? h.write_tensor(which, bytes.data(), &why) : h.read_tensor(which, bytes.data(), &why);
            break;
        }
        case transfer::of_end_point:
            status =
                parts.end_point_of(static_cast<unsigned>(t.number))
                    .move(t.write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND, pa.value, bytes.data(), t.nbytes);
            break;
        case transfer::of_pe:
            status = parts.pes()[t.number]->dma.transfer(request_of(t), delay);
        }
        t.end_ps = local_ps(delay);
        t.ok = status == TLA_OK;
        if (status != TLA_OK && status != TLA_BUS_ERROR) throw std::runtime_error(why.text);
        ended++;
    }
    pe_dma::request request_of(const transfer &t) const {
        const pe_location &l = parts.pes()[t.number]->where;
        pe_dma::request r{
            t.write ? pe_dma::direction::write : pe_dma::direction::read, {}, {}, t.rows, t.nbytes, t.pitch};
        tla_paddr_pe_tcm(l.sip, l.cube, l.pe, 0, &r.tile);
        r.physical = !t.virtual_address;
        r.va = {t.virtual_address ? parts.host().tensors().front().va.value + t.offset : address(t.offset)};
        return r;
    }
    void check(tla_status status) const {
        if (status) throw std::runtime_error(error.text);
    }

    static constexpr std::uint64_t share = 4096; // of each PE in a tensor
    scenario &s;
    npu parts;
    tla_error error{};
    std::uint64_t start_ps = 0;
    std::size_t ended = 0;
};

// --- the plain model -------------------------------------------------------------------------------------------------

void run_plain(const platform &of, std::vector<transfer> &transfers) {
    plain::npu model(of.s.config, of.parts.host().tensors());
    for (transfer &t : transfers) {
        const std::uint64_t start = of.start_ps + t.start_ps;
        const auto done = [&t](bool ok, plain::picoseconds end) {
            t.ok = ok;
            t.end_ps = end;
        };
        model.queue().at(start, 0, 0, [&, start, done](plain::picoseconds) {
            std::vector<plain::npu::piece> pieces;
            switch (t.who) {
            case transfer::of_tensor:
                for (const shard &s :
                     std::next(of.parts.host().tensors().begin(), static_cast<std::ptrdiff_t>(t.number))->shards)
                    pieces.push_back({s.pa.value, s.nbytes});
                model.host_moves(t.write, pieces, start, done);
                break;
            case transfer::of_host:
                model.host_moves(t.write, {{address(t.offset), t.nbytes}}, start, done);
                break;
            case transfer::of_end_point:
                model.end_point_moves(static_cast<unsigned>(t.number), t.write, {address(t.offset), t.nbytes}, start,
                                      done);
                break;
            case transfer::of_pe:
                model.transfer(static_cast<unsigned>(t.number), of.request_of(t), start,
                               [done](plain::picoseconds end) { done(true, end); });
            }
        });
    }
    model.queue().run();
}

// --- both ------------------------------------------------------------------------------------------------------------

class draw {
  public:
    explicit draw(std::uint64_t seed) : random_(seed) {}
    std::uint64_t between(std::uint64_t least, std::uint64_t most) { return least + random_() % (most - least + 1); }
    bool one_in(std::uint64_t n) { return random_() % n == 0; }

  private:
    std::mt19937_64 random_;
};

std::string text(std::uint64_t number) {
    return std::to_string(number);
}

std::vector<std::string> more_settings(draw &d) {
    std::vector<std::string> sets = {
        "host.dma_chunk=" + text(d.one_in(3) ? d.between(20, 100) : 64u << d.between(0, 7)) + " B"};
    if (d.one_in(2)) sets.push_back("host_memory.direction_switch=" + text(d.between(1, 9000)) + " ps");
    if (d.one_in(2)) sets.push_back("dma.outstanding=" + text(d.between(1, 20)));
    if (d.one_in(2)) sets.push_back("dma.bandwidth=" + text(d.between(20, 500)) + " GB/s");
    if (d.one_in(2)) sets.push_back("tcm.write_bandwidth=" + text(d.between(20, 500)) + " GB/s");
    if (d.one_in(2)) sets.push_back("tcm.latency=" + text(d.between(0, 4) * 500) + " ps");
    return sets;
}

// With round figures, so that much happens at the same time.
std::vector<std::string> round_settings(draw &d) {
    std::vector<std::string> sets = {"links.wire=0 ps", "links.flit=64 B", "host_memory.direction_switch=0 ns"};
    for (const char *key :
         {"links.router", "links.pe", "links.hbm", "links.connection", "links.port", "links.ucie", "links.pcie",
          "links.host", "links.host_memory", "io_chiplet.", "dma.", "tcm.read", "tcm.write", "host_memory.channel"})
        sets.push_back(std::string(key) + (std::string(key).back() == '.' ? "bandwidth=" : "_bandwidth=") +
                       text(32u << d.between(0, 1)) + " GB/s");
    for (const char *key : {"cube.router_overhead", "io_chiplet.pcie_overhead", "links.ucie_overhead",
                            "links.switch_overhead", "host_memory.latency", "tcm.latency", "mmu.overhead"})
        sets.push_back(std::string(key) + "=" + text(d.between(0, 2)) + " ns");
    for (const char *key : {"host.dma_chunk", "host_memory.interleave", "dma.chunk"})
        sets.push_back(std::string(key) + "=" + text(64u << d.between(0, 2)) + " B");
    return sets;
}

// On a grid, so that much happens at the same time; those of one initiator start at different times.
std::vector<transfer> random_transfers(draw &d, const tla_config &c) {
    const std::uint64_t pes =
        c.system.sips * std::uint64_t{c.system.cube_mesh_width} * c.system.cube_mesh_height * c.system.pes_per_cube;
    const std::uint64_t grid = d.one_in(3) ? 1 : 1000,
                        within = d.between(2, 30) * (d.one_in(2) ? 20'000 : 100'000) / grid;
    const std::uint64_t room = 256 << d.between(0, 10); // in which most of them lie
    std::set<std::pair<std::uint64_t, std::uint64_t>> starts;
    std::vector<transfer> all;
    for (std::uint64_t left = d.between(2, d.one_in(2) ? 6 : 24); left > 0; left--) {
        transfer t{};
        t.who = std::array{transfer::of_host,      transfer::of_host, transfer::of_tensor,
                           transfer::of_end_point, transfer::of_pe,   transfer::of_pe}[d.between(0, 5)];
        t.write = d.one_in(2);
        t.nbytes = d.between(1, d.one_in(3) ? 100'000 : 3000);
        t.offset = d.between(0, room);
        std::uint64_t initiator = 0;
        if (t.who == transfer::of_tensor) {
            t.number = d.between(0, 1);
        } else if (t.who == transfer::of_end_point) {
            t.number = d.between(0, c.system.sips - 1);
            initiator = 1 + t.number;
        } else if (t.who == transfer::of_pe) {
            t.number = d.between(0, pes - 1);
            initiator = 100 + t.number;
            t.rows = d.between(1, 4);
            t.virtual_address = d.one_in(3);
            t.nbytes = std::min<std::uint64_t>(t.nbytes, platform::share / (t.virtual_address ? t.rows : 1));
            t.pitch = t.nbytes + (t.virtual_address ? 0 : d.between(0, 50));
            if (t.virtual_address)
                t.offset = d.between(0, pes - 1) * platform::share + d.between(0, platform::share - t.rows * t.nbytes);
        }
        if (t.who == transfer::of_end_point && d.one_in(12)) t.nbytes = d.between(1'000'000, 1'300'000);
        const bool by_host = t.who == transfer::of_host || t.who == transfer::of_end_point;
        if (by_host && d.one_in(12)) t.offset = capacity - std::min(t.nbytes, d.between(0, 6000)); // runs off its end
        do
            t.start_ps = d.between(0, within) * grid;
        while (!starts.insert({initiator, t.start_ps}).second);
        all.push_back(t);
    }
    return all;
}

struct found {
    std::size_t transfers, different, failed, late;
    char error[512];
};

void compare(std::uint64_t seed, found &result) {
    const scratch_directory scratch;
    const std::string file = scratch.path("topology.yaml");
    random_platform shape(seed);
    draw d(seed);
    std::string topology;
    std::vector<std::string> sets = shape.settings(file, topology, true);
    if (!topology.empty()) scratch.write("topology.yaml", topology);
    for (const std::string &set : topology.empty() && d.one_in(2) ? round_settings(d) : more_settings(d))
        sets.push_back(set);
    scenario s{comparison::configuration(sets), {}, ""};
    s.transfers = random_transfers(d, s.config);
    std::vector<transfer> expected = s.transfers;
    platform modules("platform", s);
    comparison::simulate(seed % 3 ? sc_core::SC_ZERO_TIME : sc_core::sc_time(1234567, sc_core::SC_PS));
    if (modules.ended != expected.size()) throw std::runtime_error("not all transfers have ended");
    run_plain(modules, expected);
    std::ostringstream text;
    for (std::size_t i = 0; i < expected.size(); i++) {
        const transfer &ours = s.transfers[i], &theirs = expected[i];
        const bool differs = ours.end_ps != theirs.end_ps || ours.ok != theirs.ok;
        if (differs && result.different++ == 0)
            std::snprintf(result.error, sizeof result.error, "%s ends at %lld, should %lld", text_of(ours).c_str(),
                          static_cast<long long>(ours.end_ps - modules.start_ps),
                          static_cast<long long>(theirs.end_ps - modules.start_ps));
        result.failed += !theirs.ok;
        if (seeds::is_one())
            std::fprintf(stderr, "%s: ends at %lld, should %lld\n", text_of(ours).c_str(),
                         static_cast<long long>(ours.end_ps - modules.start_ps),
                         static_cast<long long>(theirs.end_ps - modules.start_ps));
    }
    for (const std::string &set : sets)
        if (seeds::is_one()) std::fprintf(stderr, " --set '%s'", set.c_str());
    result.transfers = expected.size();
    result.late = time_queue::get_late().late;
}

} // namespace

BOOST_AUTO_TEST_CASE(random_transfers_of_several_initiators_take_the_time_of_the_plain_event_model) {
    const seeds all(200);
    std::size_t transfers = 0, failed = 0;
    for (std::uint64_t seed = all.first; seed < all.first + all.count; seed++) {
        const std::string name = "seed " + std::to_string(seed);
        const auto f = apart<found>(name, [&](found &result) { compare(seed, result); });
        BOOST_CHECK_MESSAGE(!*f.error, name << ": " << f.different << " of " << f.transfers
                                            << " end at another time, or: " << f.error);
        BOOST_CHECK_EQUAL(f.late, 0u);
        transfers += f.transfers;
        failed += f.failed;
    }
    BOOST_TEST_MESSAGE(all.count << " platforms, " << transfers << " transfers, of which " << failed << " fail");
    BOOST_CHECK(all.count < 100 || (transfers > 3 * all.count && failed > 0));
}
