// A platform of random shape or with a random topology file, and random transfers of its PEs, from a seed.
#ifndef TLMALLOC_TESTS_MODULES_RANDOM_PLATFORM_HPP
#define TLMALLOC_TESTS_MODULES_RANDOM_PLATFORM_HPP

#include "exact_platform.hpp"

#include <random>
#include <sstream>
#include <string>
#include <vector>

class random_platform {
  public:
    explicit random_platform(std::uint64_t seed) : engine_(seed) {}

    // Settings over configs/kernbench.yaml. A topology file goes to `file`, where one is drawn. Half of the platforms
    // have memory at their host, or all.
    std::vector<std::string> settings(const std::string &file, std::string &topology, bool host_memory = false) {
        const char *const timings[] = {"hbm2", "flat", "channels", "channels"};
        sips_ = 1 + between(0, 3) / 2;
        width_ = between(1, 3);
        height_ = between(1, width_ == 1 ? 5 : 2);
        pes_ = between(1, 4);
        std::vector<std::string> sets{"system.sips=" + text(sips_),
                                      "system.cube_mesh_width=" + text(width_),
                                      "system.cube_mesh_height=" + text(height_),
                                      "system.pes_per_cube=" + text(pes_),
                                      "links.flit=" + text(64u << between(0, 3)) + " B",
                                      "mmu.overhead=" + text(between(0, 2) * 500) + " ps",
                                      std::string("mmu.overhead_at=") + (one_in(4) ? "call" : "access"),
                                      std::string("links.transport=") + (one_in(3) ? "once" : "per_flit"),
                                      "dma.chunk=" + text(128u << between(0, 2)) + " B",
                                      std::string("hbm.timing=") + timings[between(0, 3)],
                                      "hbm.capacity_per_cube=24 GiB",
                                      "links.wire=" + text(between(0, 50)) + " ps"};
        has_host_memory_ = one_in(2) || host_memory;
        if (has_host_memory_)
            sets.insert(sets.end(), {"host_memory.capacity=64 MiB", "host_memory.channels=" + text(1u << between(0, 3)),
                                     "host_memory.channel_bandwidth=" + bandwidth(),
                                     "host_memory.interleave=" + text(64u << between(0, 3)) + " B",
                                     "host_memory.latency=" + text(between(0, 90'000)) + " ps",
                                     std::string("host_memory.timing=") + (one_in(4) ? "flat" : "channels")});
        if (one_in(3)) {
            topology = graph();
            sets.push_back("system.topology_file=" + file);
        } else {
            shape(sets);
        }
        return sets;
    }

    // One to three transfers of most PEs: reads of one tensor and writes to another, of strided rows inside a PE's
    // share. Either may lie in the host's memory.
    void transfer(comparison::run &on) {
        const std::size_t pes = on.platform().pes().size();
        const std::uint64_t share = 16 * 1024;
        const auto somewhere = [&] {
            auto where = on.platform().host().everywhere();
            if (has_host_memory_ && one_in(2)) where.memory = TLA_HOST_MEMORY;
            return where;
        };
        const tlmalloc::tensor &in = on.make("in", pes * share, 1, somewhere()),
                               &out = on.make("out", pes * share, 1, somewhere());
        std::vector<comparison::errand> errands;
        for (std::size_t pe = 0; pe < pes; pe++) {
            if (one_in(4) && (pe + 1 < pes || !errands.empty())) continue;
            errands.push_back({pe, between(0, 1) * between(0, 100'000), {}});
            for (std::uint64_t left = between(1, 3); left > 0; left--) {
                const bool write = one_in(3);
                const tlmalloc::tensor &t = write ? out : in;
                // Half of them stay where they are, and so may go on apart from the rest.
                const tlmalloc::shard &s = t.shards[one_in(2) ? pe : between(0, t.shards.size() - 1)];
                const std::uint64_t rows = between(1, 4), row_bytes = between(1, share / rows / 2),
                                    pitch = between(row_bytes, share / rows),
                                    first = between(0, share - (rows - 1) * pitch - row_bytes);
                errands.back().list.push_back(
                    {write ? tlmalloc::pe_dma::direction::write : tlmalloc::pe_dma::direction::read,
                     {t.va.value + s.offset + first},
                     on.tile_of(pe),
                     rows,
                     row_bytes,
                     pitch});
            }
        }
        on.move(errands);
    }

  private:
    std::uint64_t between(std::uint64_t low, std::uint64_t high) { return low + engine_() % (high - low + 1); }
    bool one_in(std::uint64_t n) { return between(1, n) == 1; }
    static std::string text(std::uint64_t number) { return std::to_string(number); }
    std::string bandwidth() { return text(between(1, 16) * 32) + " GB/s"; }
    std::string overhead() { return text(between(0, 1) * between(0, 9000)) + " ps"; }

    // The shape of KernBench with other figures.
    void shape(std::vector<std::string> &sets) {
        const char *const joined[] = {"switch", "ring", "torus", "mesh"};
        const char *const routings[] = {"straight", "free_ports", "shortest", "shortest"};
        const std::uint64_t columns = between(2, 6), rows = between(2, 6);
        sets.insert(sets.end(),
                    {std::string("system.sip_topology=") + joined[between(0, 3)], "cube.mesh_columns=" + text(columns),
                     "cube.mesh_rows=" + text(rows),
                     std::string("cube.mesh_hole=") +
                         (columns > 3 && rows > 3 && columns % 2 == 0 && rows % 2 == 0 ? "centre" : "none"),
                     "cube.connections=" + text(between(1, 4)), "cube.router_overhead=" + overhead(),
                     "io_chiplet.pcie_overhead=" + overhead(), std::string("links.routing=") + routings[between(0, 3)],
                     "links.ucie_overhead=" + overhead(), "links.switch_overhead=" + overhead()});
        for (const char *key : {"router", "pe", "hbm", "connection", "port", "ucie", "pcie", "host", "host_memory"})
            sets.push_back(std::string("links.") + key + "_bandwidth=" + bandwidth());
    }

    // Routers in a tree with some links more, and everything else on one of them. Half of the graphs have few lengths,
    // and ranks for their nodes.
    std::string graph() {
        std::ostringstream nodes, links;
        const std::uint64_t routers = between(1, 9), lengths = one_in(2) ? 9 : 2;
        const auto link = [&](const std::string &a, const std::string &b) {
            links << "  - {between: " << a << ' ' << b << ", bandwidth: " << bandwidth()
                  << ", length: " << between(0, 4000) << " um, routing: " << between(1, lengths) << " mm}\n";
        };
        const auto node = [&](const std::string &name, const char *kind, bool stores) {
            nodes << "  - {name: " << name << ", kind: " << kind << ", overhead: " << overhead()
                  << (stores ? ", store_and_forward: true" : "");
            if (lengths == 2) nodes << ", rank: " << between(1, 5);
            nodes << "}\n";
        };
        for (std::uint64_t r = 0; r < routers; r++) {
            node("r" + text(r), "router", one_in(8));
            if (r > 0) link("r" + text(r), "r" + text(between(0, r - 1)));
        }
        for (std::uint64_t more = between(0, routers); more > 0 && routers > 2; more--) {
            const std::uint64_t a = between(0, routers - 2);
            link("r" + text(a), "r" + text(between(a + 1, routers - 1)));
        }
        const auto part = [&](const std::string &name, const char *kind) {
            node(name, kind, false);
            link(name, "r" + text(between(0, routers - 1)));
        };
        part("host", "host");
        if (has_host_memory_) part("host.memory", "host_memory");
        for (std::uint64_t sip = 0; sip < sips_; sip++) {
            const std::string s = "sip" + text(sip);
            part(s + ".pcie_ep", "pcie_ep");
            part(s + ".io_cpu", "io_cpu");
            for (std::uint64_t cube = 0; cube < width_ * height_; cube++) {
                const std::string c = s + ".cube" + text(cube);
                part(c + ".m_cpu", "m_cpu");
                part(c + ".sram", "sram");
                for (std::uint64_t pe = 0; pe < pes_; pe++) {
                    part(c + ".pe" + text(pe), "pe");
                    part(c + ".hbm_ctrl.pe" + text(pe), "hbm_ctrl");
                }
            }
        }
        return "nodes:\n" + nodes.str() + "links:\n" + links.str();
    }

    std::mt19937_64 engine_;
    std::uint64_t sips_ = 1, width_ = 1, height_ = 1, pes_ = 1;
    bool has_host_memory_ = false;
};

#endif
