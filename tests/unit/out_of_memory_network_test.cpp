// A network on a host without memory: read and placed, or refused for want of memory and for nothing else.
#include "host_memory/failing.hpp"
#include "network/network.h"
#include "scratch_directory.hpp"

#include <vector>

namespace {

// Outputs of the second op would be too many for the first one.
const char text[] = "name: small\ninputs: {x: 8 B, w: 12 B}\nops:\n"
                    "  - {name: linear, inputs: x w, outputs: {y: 4 B, side: 16 B, more: 8 B}}\n"
                    "  - {name: sum, inputs: y w, outputs: {a: 8 B, b: 8 B}}\n"
                    "  - {name: view, inputs: a, reshape: rows}\n"
                    "outputs: b side more rows\n";

struct outcome {
    tla_status status = TLA_OK;
    std::vector<uint64_t> offsets;
    unsigned findings = 0;
};

outcome use(const std::string &path, network_method method) {
    outcome result;
    network net;
    const auto count = [](void *findings, const tla_config_finding *) { ++*static_cast<unsigned *>(findings); };
    result.status = network_load(path.c_str(), &net, count, &result.findings);
    std::vector<uint64_t> offsets(8); // of as many tensors; not through malloc, which fails
    uint64_t height = 0;
    if (!result.status) result.status = network_place(&net, method, 64, offsets.data(), &height, nullptr);
    if (!result.status) result.offsets = offsets;
    network_clear(&net);
    return result;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_network_without_host_memory_is_placed_or_fails_at_every_allocation) {
    scratch_directory scratch;
    const std::string path = scratch.write("net.yaml", text);
    for (const network_method method : {NETWORK_PLAN, NETWORK_RECORD_TABLE}) {
        const outcome whole = use(path, method);
        BOOST_REQUIRE_EQUAL(whole.status, TLA_OK);
        const std::size_t before = host_memory::live();
        std::size_t refused = 0;
        for (bool all_later : {true, false})
            for (std::size_t n = 0, failed = 1; failed > 0; n++) {
                BOOST_TEST_CONTEXT("allocation " << n << (all_later ? " and all later ones fail" : " alone fails")) {
                    host_memory::fail_from(n, all_later);
                    const outcome o = use(path, method);
                    failed = host_memory::stop();
                    BOOST_REQUIRE_EQUAL(host_memory::live(), before);
                    BOOST_CHECK_EQUAL(o.findings, 0u);
                    BOOST_CHECK_EQUAL(tla_status_name(o.status),
                                      tla_status_name(o.status ? TLA_NO_HOST_MEMORY : TLA_OK));
                    if (!o.status) BOOST_CHECK(o.offsets == whole.offsets);
                    refused += o.status != TLA_OK;
                }
            }
        BOOST_CHECK_GT(refused, 20u);
    }
}
