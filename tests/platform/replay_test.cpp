// `tlmalloc replay` against the text of ADR-0048 D1: a list of (offset, size), sorted by offset, scanned from the
// front.
#include "platform/trace_events.hpp"
#include "shared_data.hpp"

#include <cstdint>
#include <map>
#include <random>

namespace {

const std::string data = TLMALLOC_SOURCE_DIR "/tests/data/";

struct summary {
    std::uint64_t allocs = 0, frees = 0, failed = 0, peak = 0, nodes = 0;
};

// The naive list, exactly as ADR-0048 D1 says it, and the placement file it leads to.
class sorted_list {
  public:
    sorted_list(std::uint64_t capacity, std::uint64_t rounding) : align(rounding), free{{0, capacity}} {}

    void play(const event &e) {
        std::uint64_t rounded = (e.nbytes + align - 1) / align * align;
        if (!e.is_free) {
            alloc(e, rounded);
        } else if (auto living = offsets.find(e.id); living != offsets.end()) {
            give_back(living->second, rounded);
            offsets.erase(living);
            total.frees++;
            used -= rounded;
        }
    }

    std::string placements = "id,offset,bytes,nodes_visited\n";
    summary total;

  private:
    struct block {
        std::uint64_t offset, nbytes;
    };

    void alloc(const event &e, std::uint64_t nbytes) {
        std::uint64_t visited = 0;
        std::string offset = "-";
        for (std::size_t i = 0; i < free.size(); i++) {
            visited++;
            if (free[i].nbytes < nbytes) continue;
            offset = std::to_string(free[i].offset);
            offsets[e.id] = free[i].offset;
            free[i].offset += nbytes;
            free[i].nbytes -= nbytes;
            if (free[i].nbytes == 0) free.erase(free.begin() + static_cast<std::ptrdiff_t>(i));
            break;
        }
        total.allocs++;
        total.nodes += visited;
        if (offset == "-")
            total.failed++;
        else
            used += nbytes;
        total.peak = std::max(total.peak, used);
        placements +=
            std::to_string(e.id) + "," + offset + "," + std::to_string(e.nbytes) + "," + std::to_string(visited) + "\n";
    }

    void give_back(std::uint64_t offset, std::uint64_t nbytes) {
        auto next = free.begin();
        while (next != free.end() && next->offset < offset)
            ++next;
        auto here = free.insert(next, {offset, nbytes});
        if (auto after = here + 1; after != free.end() && here->offset + here->nbytes == after->offset) {
            here->nbytes += after->nbytes;
            here = free.erase(after) - 1;
        }
        if (here != free.begin() && (here - 1)->offset + (here - 1)->nbytes == here->offset) {
            (here - 1)->nbytes += here->nbytes;
            free.erase(here);
        }
    }

    std::uint64_t align, used = 0;
    std::vector<block> free;
    std::map<std::uint64_t, std::uint64_t> offsets;
};

std::string write_events(const std::vector<event> &events) {
    std::string text = "time_ns,op,id,bytes\n";
    for (std::size_t i = 0; i < events.size(); i++)
        text += std::to_string(10 * i) + (events[i].is_free ? ",free," : ",alloc,") + std::to_string(events[i].id) +
                "," + std::to_string(events[i].nbytes) + "\n";
    return text;
}

void check_against_sorted_list(const std::string &trace, const std::vector<event> &events, std::uint64_t capacity,
                               std::uint64_t align) {
    scratch_directory scratch;
    std::string placements = scratch.path("placements.csv"), json = scratch.path("report.json");
    command_result run = run_tlmalloc({"replay", trace, "--capacity", std::to_string(capacity), "--align",
                                       std::to_string(align), "--placements", placements, "--json", json});
    BOOST_REQUIRE_MESSAGE(run.status == 0, run.err);
    sorted_list reference(capacity, align);
    for (const event &e : events)
        reference.play(e);
    std::string found = read_text(placements);
    if (found != reference.placements) {
        std::istringstream ours(found), theirs(reference.placements);
        std::string our_line, their_line;
        do {
            std::getline(ours, our_line);
        } while (std::getline(theirs, their_line) && our_line == their_line);
        BOOST_ERROR("found " << our_line << ", expected " << their_line);
    }
    std::string report = read_text(json);
    const summary &s = reference.total;
    for (const auto &[key, value] : std::map<std::string, std::uint64_t>{{"allocs", s.allocs},
                                                                         {"frees", s.frees},
                                                                         {"failed", s.failed},
                                                                         {"peak_used_bytes", s.peak},
                                                                         {"nodes_visited", s.nodes}})
        BOOST_CHECK_MESSAGE(contains(report, "\"" + key + "\": " + std::to_string(value) + ","),
                            key << " is not " << value << " in " << report);
    BOOST_CHECK(contains(report, "\"wall_s\": "));
}

// Allocations and frees in random order; ids as large as they come.
std::vector<event> random_events(std::uint64_t seed, std::size_t count, std::uint64_t largest) {
    std::mt19937_64 random(seed);
    std::vector<event> events, living;
    std::uint64_t id = random();
    for (std::size_t i = 0; i < count; i++) {
        if (living.size() > 200 || (!living.empty() && random() % 5 < 2)) {
            std::size_t victim = random() % living.size();
            events.push_back({true, living[victim].id, living[victim].nbytes});
            living[victim] = living.back();
            living.pop_back();
        } else {
            std::uint64_t nbytes = 1 + random() % (random() % 4 ? 64 : largest);
            events.push_back({false, id, nbytes});
            living.push_back(events.back());
            id += random(); // wraps around; odd luck aside, unique
        }
    }
    return events;
}

} // namespace

BOOST_AUTO_TEST_CASE(a_recorded_trace_is_placed_as_by_the_sorted_list) {
    scratch_directory scratch;
    std::string trace = data + "lm_train.csv.gz";
    std::vector<event> events = read_events(gunzip(trace, scratch));
    BOOST_REQUIRE_EQUAL(events.size(), 7222u);
    check_against_sorted_list(trace, events, std::uint64_t{1} << 30, 1);
    check_against_sorted_list(trace, events, 100'000'000, 1); // too small: some fail
    check_against_sorted_list(trace, events, std::uint64_t{1} << 30, 512);
}

BOOST_AUTO_TEST_CASE(all_recorded_traces_are_placed_as_by_the_sorted_list) {
    if (!shared_data_is_here("traces")) return;
    scratch_directory scratch;
    for (std::string name : {"lm_train", "resnet_train", "lm_serve"}) {
        std::string trace = shared_data + "traces/" + name + ".csv.gz";
        std::vector<event> events = read_events(gunzip(trace, scratch));
        check_against_sorted_list(trace, events, std::uint64_t{6} << 30, 1);
        check_against_sorted_list(trace, events, 60'000'000, 64); // too small for each of them: some fail
    }
}

BOOST_AUTO_TEST_CASE(random_sequences_are_placed_as_by_the_sorted_list) {
    for (std::uint64_t seed = 1; seed <= 8; seed++) {
        BOOST_TEST_INFO("seed " << seed);
        scratch_directory scratch;
        std::vector<event> events = random_events(seed, 20000, 4096);
        std::string trace = scratch.write("random.csv", write_events(events));
        check_against_sorted_list(trace, events, 30'000 * seed, std::uint64_t{1} << (seed % 4));
    }
}

BOOST_AUTO_TEST_CASE(replay_ignores_the_free_of_an_allocation_that_failed) {
    scratch_directory scratch;
    std::string trace = scratch.write("t.csv", "time_ns,op,id,bytes\n"
                                               "0,alloc,7,60\n"
                                               "1,alloc,8,60\n"
                                               "2,free,8,60\n"
                                               "3,free,7,60\n"
                                               "4,alloc,9,100\n");
    std::string placements = scratch.path("p.csv");
    command_result run = run_tlmalloc({"replay", trace, "--capacity", "100", "--placements", placements});
    BOOST_CHECK_EQUAL(run.status, 0);
    BOOST_CHECK_EQUAL(read_text(placements), "id,offset,bytes,nodes_visited\n7,0,60,1\n8,-,60,1\n9,0,100,1\n");
    BOOST_CHECK_MESSAGE(contains(run.err, "id 8: first_fit overflow: requested 60 bytes, 40 free"), run.err);
    BOOST_CHECK_MESSAGE(contains(run.out, "failed           1\n"), run.out);
}

BOOST_AUTO_TEST_CASE(replay_reads_lines_that_end_in_carriage_return_and_ids_that_are_used_again) {
    scratch_directory scratch;
    std::string trace = scratch.write("t.csv", "time_ns,op,id,bytes\r\n"
                                               "5,alloc,18446744073709551615,3\r\n"
                                               "5,free,18446744073709551615,3\r\n"
                                               "5,alloc,18446744073709551615,4\r\n");
    std::string placements = scratch.path("p.csv");
    command_result run = run_tlmalloc({"replay", trace, "--capacity", "1 KiB", "--placements", placements});
    BOOST_CHECK_MESSAGE(run.status == 0, run.err);
    BOOST_CHECK_EQUAL(read_text(placements), "id,offset,bytes,nodes_visited\n"
                                             "18446744073709551615,0,3,1\n"
                                             "18446744073709551615,0,4,1\n");
}

BOOST_AUTO_TEST_CASE(a_bad_trace_is_rejected_with_its_place) {
    struct bad_trace {
        std::string text, message;
    };
    const std::string head = "time_ns,op,id,bytes\n", first = head + "10,alloc,5,64\n";
    const bad_trace bad_traces[] = {
        {"", "t.csv:1:1: the file is empty"},
        {"\n", "t.csv:1:1: found '', expected the header line time_ns,op,id,bytes"},
        {"time,op,id,bytes\n", "t.csv:1:1: found 'time,op,id,bytes', expected the header line"},
        {"10,alloc,5,64\n", "t.csv:1:1: found '10,alloc,5,64', expected the header line"},
        {"Threads,Time,Action\n",
         "header line time_ns,op,id,bytes, or that of RMM's log, Thread,Time,Action,Pointer,Size,Stream"},
        {head + "10,alloc,5\n", "t.csv:2:11: found 3 columns, expected 4"},
        {head + "\n" + "10,alloc,5,64\n", "t.csv:2:1: found 1 column, expected 4"},
        {first + "\n\r\n" + "11,free,5,64\n", "t.csv:3:1: found 1 column, expected 4"},
        {head + " \n", "t.csv:2:2: found 1 column, expected 4"},
        {head + "10,alloc,5,64,1\n", "t.csv:2:15: found '1', expected the end of the line"},
        {head + "-1,alloc,5,64\n", "t.csv:2:1: found '-1', expected a time in ns"},
        {head + "18446744073709551616,alloc,5,64\n", "t.csv:2:1: found '18446744073709551616', expected a time in ns"},
        {head + " 1,alloc,5,64\n", "t.csv:2:1: found ' 1', expected a time in ns"},
        {head + "10,malloc,5,64\n", "t.csv:2:4: found 'malloc', expected alloc or free"},
        {head + "10,ALLOC,5,64\n", "t.csv:2:4: found 'ALLOC', expected alloc or free"},
        {head + "10,alloc,x5,64\n", "t.csv:2:10: found 'x5', expected an id"},
        {head + "10,alloc,5,-64\n", "t.csv:2:12: found '-64', expected a number of bytes"},
        {head + "10,alloc,5,0\n", "t.csv:2:12: found '0', expected a number of bytes"},
        {head + "10,alloc,5,64 \n", "t.csv:2:12: found '64 ', expected a number of bytes"},
        {head + "10,alloc,5,9223372036854775809\n", "t.csv:2:12: found '9223372036854775809', expected a number of"},
        {head + "10,alloc,5,99999999999999999999\n", "t.csv:2:12: found '99999999999999999999', expected a number of"},
        {first + "9,free,5,64\n", "t.csv:3:1: time goes backwards: found 9, expected 10 or later"},
        {first + "11,alloc,5,64\n", "t.csv:3:10: id 5 is already live: allocated in line 2"},
        {first + "11,free,6,64\n", "t.csv:3:9: free of unknown id: found 6, expected the id of a live allocation"},
        {first + "11,free,5,64\n12,free,5,64\n",
         "t.csv:4:9: double free of id 5: allocated in line 2, freed in line 3"},
        {first + "11,free,5,63\n",
         "t.csv:3:11: free of id 5 with another size: found 63, expected the 64 bytes allocated in line 2"},
        {first + "11,fr", "t.csv:3:6: found 2 columns, expected 4: time_ns,op,id,bytes; the last line has no newline: "
                          "the file may be truncated\n"},
        {first + "11,free,5,", "expected a number of bytes, 1 .. 2^63; the last line has no newline: the file may be"},
        {first + "11,fr,5,64", "t.csv:3:4: found 'fr', expected alloc or free\n"},
        {first + "11,free,5,6", "t.csv:3:11: free of id 5 with another size"},
        {head + std::string(4097, 'x') + "\n", "t.csv:2:4097: line longer than the limit of 4096 bytes"},
        {head + std::string(100000, '1'), "t.csv:2:4097: line longer than the limit of 4096 bytes"},
        {std::string(5000, 't'), "t.csv:1:4097: line longer than the limit of 4096 bytes"},
        {head + std::string("10,\0lloc,5,64\n", 14), "t.csv:2:4: found '?lloc', expected alloc or free"},
        {head + std::string(1000, 'x') + "\n", "t.csv:2:1001: found 1 column, expected 4"},
    };
    for (const bad_trace &bad : bad_traces) {
        scratch_directory scratch;
        std::string trace = scratch.write("t.csv", bad.text);
        std::string kept = scratch.write("p.csv", "of an earlier run\n");
        command_result run = run_tlmalloc({"replay", trace, "--capacity", "1 KiB", "--placements", kept});
        BOOST_CHECK_MESSAGE(run.status == 2, "status " << run.status << " for: " << bad.text);
        BOOST_CHECK_MESSAGE(contains(run.err, bad.message), "found " << run.err << "expected " << bad.message);
        BOOST_CHECK_EQUAL(run.out, "");
        BOOST_CHECK_EQUAL(read_text(kept), "of an earlier run\n");
        BOOST_CHECK_EQUAL(scratch.file_count(), 2u);
    }
}

BOOST_AUTO_TEST_CASE(a_truncated_compressed_trace_is_rejected_at_every_length) {
    scratch_directory scratch;
    std::string plain = scratch.write("t.csv", "time_ns,op,id,bytes\n10,alloc,5,64\n11,alloc,6,32\n12,free,5,64\n");
    BOOST_REQUIRE_EQUAL(std::system(("gzip -n '" + plain + "'").c_str()), 0);
    std::string whole = read_text(plain + ".gz");
    BOOST_REQUIRE_EQUAL(run_tlmalloc({"replay", plain + ".gz", "--capacity", "1 KiB"}).status, 0);
    for (std::size_t length = 0; length < whole.size(); length++) {
        std::string cut = scratch.write("cut.csv.gz", whole.substr(0, length));
        command_result run = run_tlmalloc({"replay", cut, "--capacity", "1 KiB"});
        BOOST_CHECK_MESSAGE(run.status == 2, "status " << run.status << " when cut after " << length);
        BOOST_CHECK_MESSAGE(contains(run.err, "cut.csv.gz:"), run.err);
    }
}

BOOST_AUTO_TEST_CASE(a_compressed_trace_that_is_damaged_is_rejected) {
    scratch_directory scratch;
    std::string whole = read_text(data + "lm_train.csv.gz");
    for (std::size_t at : {whole.size() / 3, whole.size() / 2, whole.size() - 6}) { // the last: its checksum
        std::string damaged = whole;
        damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
        command_result run = run_tlmalloc({"replay", scratch.write("d.csv.gz", damaged), "--capacity", "1 GiB"});
        BOOST_CHECK_EQUAL(run.status, 2);
        BOOST_CHECK_MESSAGE(contains(run.err, "d.csv.gz: not valid gzip"), run.err);
    }
    command_result run =
        run_tlmalloc({"replay", scratch.write("e.csv.gz", whole.substr(0, whole.size() / 2)), "--capacity", "1 GiB"});
    BOOST_CHECK_EQUAL(run.status, 2);
    BOOST_CHECK_MESSAGE(contains(run.err, "the file is truncated"), run.err);
}

BOOST_AUTO_TEST_CASE(files_that_cannot_be_read_or_written_fail_with_status_1) {
    scratch_directory scratch;
    std::string trace = scratch.write("t.csv", "time_ns,op,id,bytes\n1,alloc,1,8\n");
    command_result missing = run_tlmalloc({"replay", scratch.path("none.csv"), "--capacity", "1 KiB"});
    BOOST_CHECK_EQUAL(missing.status, 1);
    BOOST_CHECK_MESSAGE(contains(missing.err, "none.csv: cannot be read: No such file or directory"), missing.err);
    command_result directory = run_tlmalloc({"replay", scratch.path("."), "--capacity", "1 KiB"});
    BOOST_CHECK_EQUAL(directory.status, 1);
    BOOST_CHECK_MESSAGE(contains(directory.err, "cannot be read: Is a directory"), directory.err);
    std::string nowhere = scratch.path("none/p.csv");
    command_result unwritable = run_tlmalloc({"replay", trace, "--capacity", "1 KiB", "--placements", nowhere});
    BOOST_CHECK_EQUAL(unwritable.status, 1);
    BOOST_CHECK_MESSAGE(contains(unwritable.err, "none/p.csv: cannot write: No such file or directory"),
                        unwritable.err);
    command_result full = run_tlmalloc({"replay", trace, "--capacity", "1 KiB", "--json", "/dev/full"});
    BOOST_CHECK_EQUAL(full.status, 1);
    BOOST_CHECK_MESSAGE(contains(full.err, "/dev/full: cannot write: No space left on device"), full.err);
}

BOOST_AUTO_TEST_CASE(replay_usage_errors_have_status_2_and_say_what_was_expected) {
    struct misuse {
        std::vector<std::string> arguments;
        std::string message;
    };
    const misuse misuses[] = {
        {{"replay"}, "expected a TRACE"},
        {{"replay", "t.csv"}, "expected --capacity SIZE, --from SNAPSHOT or --config CONFIG"},
        {{"replay", "a.csv", "b.csv", "--capacity", "1 KiB"}, "found a second argument 'b.csv'"},
        {{"replay", "t.csv", "--capacity", "0"}, "--capacity: found '0', expected 1 byte to 2^63 bytes"},
        {{"replay", "t.csv", "--capacity", "-1"}, "--capacity: "},
        {{"replay", "t.csv", "--capacity", "36893488147419103232"}, "expected at most 2^63 bytes"},
        {{"replay", "t.csv", "--capacity", "1 parsec"}, "--capacity: "},
        {{"replay", "t.csv", "--capacity", "1 KiB", "--align", "3"},
         "--align: found '3', expected a power of two, 1 byte"},
        {{"replay", "t.csv", "--capacity", "1 KiB", "--align", "0"}, "--align: found '0', expected a power of two"},
        {{"replay", "t.csv", "--capacity", "1 KiB", "--policy", "luck"},
         "--policy: found \"luck\", expected first_fit or best_fit"},
        {{"replay", "t.csv", "--capacity", "1 KiB", "--policy", "slot_pool/best_fit"},
         "--policy: found \"slot_pool/best_fit\", expected slot_pool alone"},
        {{"replay", "t.csv", "--capacity", "1 KiB", "--speed", "2"}, "--speed needs --config or --compare"},
        {{"replay", "t.csv", "--capacity", "1 KiB", "--set", "a=b"},
         "--set needs --config, --compare, or a front as --policy"},
        {{"replay", "t.csv", "--config", "c.yaml", "--speed", "0"}, "--speed: found '0', expected a positive number"},
        {{"replay", "t.csv", "--config", "c.yaml", "--speed", "fast"}, "--speed: found 'fast'"},
        {{"replay", "t.csv", "--config", "c.yaml", "--capacity", "1 KiB"},
         "--capacity contradicts --from and --config"},
        {{"replay", "t.csv", "--config", "c.yaml", "--policy", "segment_cache", "--settings", ""},
         "--settings contradicts --config"},
        {{"replay", "t.csv", "--config", "c.yaml", "--policy", "segment_cache", "--pytorch", "2.4"},
         "--pytorch contradicts --config"},
        {{"replay", "t.csv", "--compare"}, "option '--compare' requires an argument: all|NAME,...\n"},
        {{"replay", "t.csv", "--capacity", "1 KiB", "--compare", "some"},
         "--compare: use all, every, or names separated by commas: found \"some\", expected first_fit or best_fit"},
        {{"replay", "t.csv", "--capacity", "1 KiB", "--compare", "tlsf,budy"}, "found \"budy\""},
        {{"replay", "t.csv", "--capacity", "1 KiB", "--compare", "tlsf,budy"}, "did you mean \"buddy\"?"},
        {{"replay", "t.csv", "--capacity", "1 KiB", "--compare", "tlsf,tlsf"}, "found 'tlsf' a second time"},
        {{"replay", "t.csv", "--capacity", "1 KiB", "--compare", "mixed,mixed/first_fit"},
         "found 'mixed/first_fit' a second time"},
        {{"replay", "t.csv", "--capacity", "1 KiB", "--compare", "tlsf,"}, "found \"\", expected first_fit"},
        {{"replay", "t.csv", "--capacity", "1 KiB", "--compare", "tlsf", "--placements", "-"},
         "--placements: '-' is not a file"},
        {{"replay", "t.csv", "--capacity", "1 KiB", "--compare", "tlsf", "--map", "/dev/null"},
         "--map: '/dev/null' is not a file: --compare writes one file for each policy, such as out.first_fit.svg"},
        {{"replay", "t.csv", "--capacity", "1 KiB", "--compare", "all", "--policy", "buddy"},
         "--policy contradicts --compare"},
        {{"replay", "t.csv", "--capacity", "1 KiB", "--nonsense"}, "unrecognized option '--nonsense'"},
    };
    for (const misuse &m : misuses) {
        command_result run = run_tlmalloc(m.arguments);
        BOOST_CHECK_MESSAGE(run.status == 2, "status " << run.status << ": " << run.err);
        BOOST_CHECK_MESSAGE(contains(run.err, m.message), run.err);
        BOOST_CHECK_EQUAL(run.out, "");
    }
}
