// The schedule of stages beside an event-driven simulator, and what must hold of any schedule.
#include "naive_stages.hpp"
#include "seeded_random.hpp"

#include <boost/test/unit_test.hpp>

#include <memory>

namespace {

using schedule_ptr = std::unique_ptr<tla_tile_schedule, void (*)(tla_tile_schedule *)>;

schedule_ptr new_schedule(std::uint32_t depth) {
    return {tla_tile_schedule_create(depth), tla_tile_schedule_destroy};
}

tla_stage_unit engine_of(tla_stage stage) {
    static const tla_stage_unit units[] = {
        TLA_STAGE_UNIT_SCHEDULER,   TLA_STAGE_UNIT_DMA_READ,    TLA_STAGE_UNIT_DMA_READ, TLA_STAGE_UNIT_FETCH,
        TLA_STAGE_UNIT_ACCELERATOR, TLA_STAGE_UNIT_ACCELERATOR, TLA_STAGE_UNIT_STORE,    TLA_STAGE_UNIT_DMA_WRITE};
    return units[stage];
}

// In so many tries every unit is asked, but for one chance in 10^15.
const int many = 200;

// Performs everything that the schedule tells, asking the units in any order.
stage_times perform(tla_tile_schedule *schedule, std::uint64_t first_number, const stage_durations &takes,
                    seeded_random &random) {
    stage_times times;
    for (int idle = 0; idle < many;) {
        const auto unit = static_cast<tla_stage_unit>(random.between(0, TLA_STAGE_UNIT_COUNT - 1));
        tla_tile_task task{};
        idle++;
        if (!tla_tile_schedule_take(schedule, unit, &task)) continue;
        BOOST_REQUIRE_EQUAL(engine_of(task.stage), unit);
        tla_tile_task second{};
        BOOST_REQUIRE(!tla_tile_schedule_take(schedule, unit, &second)); // it works on one thing
        const stage_key key{task.operation - first_number, task.stage, task.index};
        const std::uint64_t end_ps = task.ready_ps + takes(key);
        BOOST_REQUIRE(times.emplace(key, stage_time{task.ready_ps, end_ps}).second); // once
        tla_tile_schedule_end(schedule, unit, task.ready_ps, end_ps);
        idle = 0;
    }
    return times;
}

tla_tile_operation random_operation(seeded_random &random) {
    tla_tile_operation operation{};
    operation.gemm = random.between(0, 2) != 0;
    operation.math = !operation.gemm || random.one_in(2);
    operation.reads_a = random.one_in(2);
    operation.reads_b = random.one_in(2);
    operation.writes = !random.one_in(4);
    std::uint32_t size[3], tile[3];
    for (int i = 0; i < 3; i++) {
        size[i] = static_cast<std::uint32_t>(random.between(1, 9));
        tile[i] = static_cast<std::uint32_t>(random.between(1, 4));
    }
    if (!operation.gemm) size[1] = 1;
    BOOST_REQUIRE_EQUAL(tla_tiling_make(&operation.tiling, size, tile, nullptr), TLA_OK);
    return operation;
}

// What any schedule keeps: units do one thing at a time and in order, nothing comes before what it needs.
void check_invariants(const std::vector<naive_operation> &operations, const stage_times &times) {
    std::map<tla_stage_unit, std::vector<std::pair<stage_key, stage_time>>> units;
    std::uint64_t begin_ps = UINT64_MAX, end_ps = 0;
    for (const auto &[key, time] : times) {
        units[engine_of(key.stage)].push_back({key, time});
        begin_ps = std::min(begin_ps, time.begin_ps);
        end_ps = std::max(end_ps, time.end_ps);
        BOOST_REQUIRE_GE(time.begin_ps, operations[key.operation].arrival_ps);
    }
    for (auto &[unit, work] : units) {
        const auto step = [&](const stage_key &key) { // in the order of its tiling
            const std::uint64_t k = operations[key.operation].what.tiling.count_k;
            return key.stage == TLA_STAGE_MATH ? key.index * k + (k - 1) : key.index;
        };
        std::sort(work.begin(), work.end(), [&](const auto &a, const auto &b) {
            return std::make_tuple(a.first.operation, step(a.first), a.first.stage) <
                   std::make_tuple(b.first.operation, step(b.first), b.first.stage);
        });
        std::uint64_t busy_ps = 0, free_ps = 0;
        for (const auto &[key, time] : work) {
            BOOST_REQUIRE_GE(time.begin_ps, free_ps);
            free_ps = time.end_ps;
            busy_ps += time.end_ps - time.begin_ps;
        }
        BOOST_CHECK_LE(busy_ps, end_ps - begin_ps);
    }
    for (const auto &entry : times) { // not as a structured binding, which no lambda of C++17 can capture
        const auto &key = entry.first;
        const auto &time = entry.second;
        const tla_tile_operation &what = operations[key.operation].what;
        const std::uint64_t k = what.tiling.count_k;
        const auto after = [&](tla_stage stage, std::uint64_t index) {
            const auto found = times.find({key.operation, stage, index});
            if (found != times.end()) BOOST_REQUIRE_LE(found->second.end_ps, time.begin_ps);
        };
        if (key.stage <= TLA_STAGE_GEMM)
            for (int stage = 0; stage < key.stage; stage++)
                if (key.stage != TLA_STAGE_READ_B || stage != TLA_STAGE_READ_A)
                    after(static_cast<tla_stage>(stage), key.index);
        if (key.stage >= TLA_STAGE_MATH) {
            for (std::uint64_t step = key.index * k; step < (key.index + 1) * k; step++)
                after(what.gemm ? TLA_STAGE_GEMM : TLA_STAGE_FETCH, step);
            for (int stage = TLA_STAGE_MATH; stage < key.stage; stage++)
                after(static_cast<tla_stage>(stage), key.index);
        }
    }
}

} // namespace

BOOST_AUTO_TEST_CASE(random_operations_take_the_time_of_the_naive_simulator_to_the_picosecond) {
    seeded_random random(7);
    for (int round = 0; round < 1500; round++) {
        BOOST_TEST_CONTEXT("round " << round) {
            const auto depth = static_cast<std::uint32_t>(random.between(1, 4));
            std::vector<naive_operation> operations(random.between(1, 4));
            std::uint64_t arrival_ps = 0, rates[TLA_STAGE_COUNT];
            for (naive_operation &operation : operations)
                operation = {random_operation(random), arrival_ps += random.between(0, 1) * random.between(0, 2000)};
            for (std::uint64_t &rate : rates)
                rate = random.between(0, 3) * random.between(0, 300);
            const std::uint64_t salt = random.between(1, 1 << 20);
            const stage_durations takes = [&](const stage_key &key) { // of every stage its own, zero among them
                return rates[key.stage] + (key.index * 7 + key.operation * 3 + salt) % 5 * (salt % 3);
            };
            const auto schedule = new_schedule(depth);
            std::uint64_t first_number = 0;
            for (const naive_operation &operation : operations) {
                std::uint64_t number = 0;
                BOOST_REQUIRE_EQUAL(
                    tla_tile_schedule_add(schedule.get(), &operation.what, operation.arrival_ps, &number), TLA_OK);
                if (!first_number) first_number = number;
            }
            const stage_times times = perform(schedule.get(), first_number, takes, random);
            const stage_times naive = naive_stages(depth, operations, takes).run();
            BOOST_REQUIRE_EQUAL(times.size(), naive.size());
            for (const auto &[key, time] : naive) {
                const auto found = times.find(key);
                BOOST_REQUIRE(found != times.end());
                BOOST_REQUIRE_EQUAL(found->second.begin_ps, time.begin_ps);
                BOOST_REQUIRE_EQUAL(found->second.end_ps, time.end_ps);
            }
            check_invariants(operations, times);
            for (std::size_t op = 0; op < operations.size(); op++) {
                std::uint64_t begin_ps = 0, end_ps = 0, first = UINT64_MAX, last = 0;
                BOOST_REQUIRE(tla_tile_schedule_collect(schedule.get(), first_number + op, &begin_ps, &end_ps));
                for (const auto &[key, time] : times) {
                    if (key.operation != op || key.stage == TLA_STAGE_FEED) continue;
                    first = std::min(first, time.begin_ps);
                    last = std::max(last, time.end_ps);
                }
                if (last) BOOST_CHECK_EQUAL(begin_ps, first);
                BOOST_CHECK_EQUAL(end_ps, last);
                BOOST_CHECK(!tla_tile_schedule_collect(schedule.get(), first_number + op, &begin_ps, &end_ps));
            }
        }
    }
}

// 48 tiles of 29 ns, which hide everything but the first feed and what follows the last: as KernBench's arithmetic.
BOOST_AUTO_TEST_CASE(a_product_whose_reads_are_slowest_takes_these_and_what_follows_the_last) {
    const std::uint32_t size[] = {32, 3072, 32}, tile[] = {32, 64, 32};
    tla_tile_operation operation{};
    BOOST_REQUIRE_EQUAL(tla_tiling_make(&operation.tiling, size, tile, nullptr), TLA_OK);
    operation.reads_b = operation.gemm = operation.writes = true;
    static const std::uint64_t takes[] = {0, 0, 29'000, 16'000, 16'384, 0, 4'000, 21'000};
    const auto schedule = new_schedule(2);
    std::uint64_t number = 0, begin_ps = 0, end_ps = 0;
    BOOST_REQUIRE_EQUAL(tla_tile_schedule_add(schedule.get(), &operation, 5'000, &number), TLA_OK);
    seeded_random random(3);
    perform(
        schedule.get(), number, [](const stage_key &key) { return takes[key.stage]; }, random);
    BOOST_REQUIRE(tla_tile_schedule_collect(schedule.get(), number, &begin_ps, &end_ps));
    BOOST_CHECK_EQUAL(begin_ps, 5'000u);
    BOOST_CHECK_EQUAL(end_ps - begin_ps, 48 * 29'000u + 16'000 + 16'384 + 4'000 + 21'000);
}

BOOST_AUTO_TEST_CASE(dropped_operations_end_with_their_begun_part_and_stall_no_other_operation) {
    seeded_random random(11);
    for (int round = 0; round < 1500; round++) {
        BOOST_TEST_CONTEXT("round " << round) {
            const auto depth = static_cast<std::uint32_t>(random.between(1, 3));
            const auto schedule = new_schedule(depth);
            std::vector<naive_operation> operations(3);
            std::uint64_t numbers[3]{};
            for (std::size_t i = 0; i < 3; i++) {
                operations[i] = {random_operation(random), 0};
                BOOST_REQUIRE_EQUAL(tla_tile_schedule_add(schedule.get(), &operations[i].what, 0, &numbers[i]), TLA_OK);
            }
            std::uint64_t done = 0, busy[TLA_STAGE_UNIT_COUNT]{}, all = 0;
            for (const naive_operation &operation : operations)
                all += operation.what.tiling.steps;
            const std::uint64_t drop_after = random.between(0, all * 2), victim = random.between(0, 2);
            std::uint64_t now = 0;
            tla_tile_task tasks[TLA_STAGE_UNIT_COUNT]{};
            bool dropped = false;
            std::map<std::uint64_t, std::uint64_t> written;
            for (int idle = 0; idle < many; idle++) {
                const auto unit = static_cast<tla_stage_unit>(random.between(0, TLA_STAGE_UNIT_COUNT - 1));
                if (!busy[unit]) {
                    if (!tla_tile_schedule_take(schedule.get(), unit, &tasks[unit])) continue;
                    BOOST_REQUIRE(!dropped || tasks[unit].operation != numbers[victim]);
                    busy[unit] = 1;
                } else {
                    const std::uint64_t begin_ps = tasks[unit].ready_ps, end_ps = begin_ps + random.between(0, 9);
                    now = std::max(now, end_ps);
                    tla_tile_schedule_end(schedule.get(), unit, begin_ps, end_ps);
                    busy[unit] = 0;
                    done++;
                }
                idle = 0;
                if (!dropped && done >= drop_after) {
                    tla_tile_schedule_drop(schedule.get(), numbers[victim], now);
                    dropped = true;
                }
            }
            if (!dropped) tla_tile_schedule_drop(schedule.get(), numbers[victim], now);
            std::uint64_t begin_ps = 0, end_ps = 0;
            for (const std::uint64_t number : numbers) // everything else came to its end
                BOOST_REQUIRE(tla_tile_schedule_collect(schedule.get(), number, &begin_ps, &end_ps));
            // And nothing is held: one more takes what it takes alone.
            const naive_operation more{random_operation(random), now};
            std::uint64_t number = 0;
            BOOST_REQUIRE_EQUAL(tla_tile_schedule_add(schedule.get(), &more.what, now, &number), TLA_OK);
            const stage_durations takes = [](const stage_key &key) { return 3 + 2 * static_cast<unsigned>(key.stage); };
            const stage_times times = perform(schedule.get(), number, takes, random);
            const stage_times naive = naive_stages(depth, {more}, takes).run();
            BOOST_REQUIRE_EQUAL(times.size(), naive.size());
            for (const auto &[key, time] : naive)
                BOOST_REQUIRE_EQUAL(times.at(key).end_ps, time.end_ps);
        }
    }
}
