// The least capacity that `explain` tells, against the naive allocator on devices of that size and of 2 MiB less.
#include "tests/torch/recording.hpp"
#include "tlmalloc/segments/segment_cache.h"
#include "torch/program.h"

#include <boost/test/unit_test.hpp>

using namespace naive_torch;

namespace {

// Whether the naive allocator serves all that the program must get.
bool serves(const torch_program &program, const settings &s, u64 capacity) {
    device d;
    d.capacity = d.bytes = capacity;
    allocator a(s, d);
    std::vector<u64> addresses(program.block_count);
    for (std::size_t i = 0; i < program.op_count; i++) {
        const torch_op &op = program.ops[i];
        const torch_program_block &block = program.blocks[op.block];
        u64 &address = addresses[op.block];
        switch (op.kind) {
        case TORCH_OP_ALLOC:
        case TORCH_OP_TRY:
            if (auto found = a.malloc(block.nbytes, block.stream))
                address = *found;
            else if (op.kind == TORCH_OP_ALLOC)
                return false;
            else
                break;
            if (op.kind == TORCH_OP_TRY) a.free(address);
            break;
        case TORCH_OP_PENDING:
            a.use(address);
            a.free(address);
            break;
        case TORCH_OP_FREE:
            a.free(address);
            break;
        case TORCH_OP_COMPLETE:
            if (std::count(a.pending.begin(), a.pending.end(), address)) a.end_use(address);
            break;
        default:
            a.empty_cache();
        }
    }
    return true;
}

struct recorded {
    torch_snapshot snapshot{};
    torch_start start{};
    torch_program program{};
    explicit recorded(const std::string &text) {
        tla_error error{};
        BOOST_REQUIRE_EQUAL(torch_snapshot_read(text.data(), text.size(), "recording", &snapshot, &error), TLA_OK);
        BOOST_REQUIRE_EQUAL(torch_start_find(&snapshot, 0, &start, &error), TLA_OK);
        const std::size_t end = snapshot.devices[0].entry_count - 1; // the request at the end must be served
        BOOST_REQUIRE_EQUAL(torch_program_make(&snapshot, 0, &start, nullptr, end, &program, &error), TLA_OK);
    }
    recorded(const recorded &) = delete;
    ~recorded() {
        torch_program_clear(&program);
        torch_start_clear(&start);
        torch_snapshot_clear(&snapshot);
    }
};

} // namespace

BOOST_AUTO_TEST_CASE(with_the_least_capacity_a_program_is_served_and_with_2_mib_less_it_is_not) {
    int found = 0;
    for (u64 seed = 1; seed <= 120; seed++) {
        std::mt19937_64 random(seed);
        device d;
        d.capacity = d.bytes = (400 + random() % 2000) * MiB;
        d.random.seed(seed);
        allocator a({}, d);
        workload w;
        w.operations = 250;
        w.largest = d.capacity / 3;
        w.streams = 1 + random() % 2;
        w.empties = false;
        if (random() % 3 == 0) a.malloc(8 * d.capacity); // fails whatever is done, and decides nothing
        run(a, w, seed);
        a.malloc(MiB + random() % (d.capacity / 2));
        const std::string text = to_json(snapshot_of({&a}));
        const recorded r(text);
        settings s;
        s.expandable = random() % 3;
        if (random() % 2) s.max_split = (20 + random() % 200) * MiB;
        torch_what_if how{};
        how.settings.expandable = s.expandable;
        how.settings.max_split_size = s.max_split == none ? 0 : s.max_split;
        u64 least = 0;
        tla_error error{};
        BOOST_REQUIRE_EQUAL(torch_program_least_capacity(&r.program, &how, 0, &least, &error), TLA_OK);
        BOOST_CHECK_MESSAGE(serves(r.program, s, least), "seed " << seed << ": not served with " << least);
        BOOST_CHECK_MESSAGE(!serves(r.program, s, least - 2 * MiB), "seed " << seed << ": served below " << least);
        found += least > 0;
    }
    BOOST_CHECK_EQUAL(found, 120);
}
