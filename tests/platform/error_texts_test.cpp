// Error texts name what was found, and only give advice that helps.
#include "platform/command_line.hpp"
#include "sanitized.hpp"
#include "today.hpp"

#include <fstream>
#include <sstream>

namespace {

const std::string source = TLMALLOC_SOURCE_DIR "/", small = source + "configs/npu_small.yaml";
const std::string events = "time_ns,op,id,bytes\n";

struct file {
    explicit file(const std::string &text, const std::string &called = "input") : path(scratch.path(called)) {
        std::ofstream(path) << text;
    }
    scratch_directory scratch;
    std::string path;
};

std::string refusal(const std::vector<std::string> &words, int status = 2) {
    const command_result run = run_tlmalloc(words);
    BOOST_CHECK_MESSAGE(run.status == status, words[0] << " ended with " << run.status << ": " << run.err);
    return run.err;
}

void check_says(const std::string &text, const std::string &part) {
    BOOST_CHECK_MESSAGE(contains(text, part), "'" << text << "' without '" << part << "'");
}

void check_says_not(const std::string &text, const std::string &part) {
    BOOST_CHECK_MESSAGE(!contains(text, part), "'" << text << "' with '" << part << "'");
}

} // namespace

BOOST_AUTO_TEST_CASE(a_replay_advises_a_trim_only_where_the_request_is_served_after_it) {
    const file config("hbm: {capacity_per_cube: 64 MiB}\n", "c64.yaml"); // 16 MiB a PE
    const auto played = [&](const std::string &trace, const std::string &policy) {
        const file input(events + trace);
        return run_tlmalloc({"replay", input.path, "--config", config.path, "--policy", policy}).err;
    };
    const std::string pinned = "0,alloc,1,8388608\n1,free,1,8388608\n2,alloc,2,256\n3,alloc,3,10485760\n",
                      whole = "0,alloc,1,8388608\n1,free,1,8388608\n2,alloc,2,16777216\n";
    for (const std::string policy : {"growing_pool", "growing_pool/best_fit", "growing_pool/buddy"}) {
        const std::string text = played(pinned, policy); // 256 live bytes keep the block of 8 MiB
        check_says(text, ": fragmented; ");
        check_says_not(text, "front");
    }
    const std::string of_a_class = played(pinned, "caching_pool"); // whose class of 16 MiB is more than a TRIM gives
    check_says(of_a_class, "requested 10485760 bytes (a block of 16777216), ");
    check_says(of_a_class, ": exhausted; ");
    check_says_not(of_a_class, "front");
    for (const std::string policy : {"growing_pool", "caching_pool"}) {
        const std::string text = played(whole, policy);
        check_says(text, "(8388608 of them after a TRIM)");
        check_says(text, "exhausted, held by a front; trim the front's cache");
    }
    const file core(events + "0,alloc,1,256\n1,free,1,256\n2,alloc,2,1024\n");
    check_says(run_tlmalloc({"replay", core.path, "--capacity", "1024B", "--policy", "growing_pool"}).err,
               "exhausted, held by a front; trim the front's cache");
}

BOOST_AUTO_TEST_CASE(a_memory_smaller_than_the_alignment_names_the_alignment) {
    const file config("hbm: {capacity_per_cube: 64 MiB}\n", "c64.yaml"), input(events + "0,alloc,1,4096\n");
    const std::string controller =
        run_tlmalloc({"replay", input.path, "--config", config.path, "--align", "128 MiB"}).err;
    check_says(controller,
               "fragmented; rounded up by controller.alignment or the policy it fits in no free block: reduce "
               "controller.alignment, choose another policy, or free something first");
    check_says_not(controller, "allocate large blocks first");
    check_says(run_tlmalloc({"replay", input.path, "--capacity", "1 MiB", "--align", "2 MiB"}).err,
               "(first_fit needs a free block of 2097152), 1048576 free of 1048576, largest free block 1048576 (1 "
               "blocks): fragmented; reduce the alignment, 2097152");
    check_says_not(run_tlmalloc({"replay", input.path, "--capacity", "1 MiB", "--align", "1 MiB"}).err, "overflow");
}

BOOST_AUTO_TEST_CASE(a_slice_without_room_for_page_tables_is_named_with_the_keys_that_help) {
    const auto run = [](const std::string &eviction, const std::string &capacity) {
        return run_tlmalloc({"run", TLMALLOC_SOURCE_DIR "/configs/npu_small.yaml", "--kernel", "vector_add", "--set",
                             "mmu.walk=memory", "--set", "mmu.unmapped=demand", "--set", "mmu.eviction=" + eviction,
                             "--set", "hbm.capacity_per_cube=" + capacity, "--set", "host_memory.capacity=64 MiB",
                             "--set", "mmu.page_size=4 KiB", "--set", "va.page_size=4 KiB"});
    };
    const std::string remedy = "sip0.cube0.pe0: no room for a page table in HBM of sip0.cube0.pe0: increase "
                               "hbm.capacity_per_cube or mmu.page_size, or set mmu.walk to flat";
    check_says(run("lru", "64 KiB").err, "a page fault failed: map in " + remedy);
    const std::string refused = run("off", "64 KiB").err;
    check_says(refused, "map: " + remedy);
    check_says(refused, "a page table cannot be allocated: out of memory in the PE's slice of HBM (");
    BOOST_CHECK_EQUAL(run("lru", "128 KiB").status, 0);
}

BOOST_AUTO_TEST_CASE(a_memory_smaller_than_a_segment_names_the_key_of_the_segment) {
    const file config("hbm: {capacity_per_cube: 64 MiB}\n", "c64.yaml"), input(events + "0,alloc,1,4194304\n");
    const auto played = [&](std::vector<std::string> more) {
        std::vector<std::string> words{"replay", input.path, "--config", config.path, "--policy", "segment_cache"};
        words.insert(words.end(), more.begin(), more.end());
        return run_tlmalloc(words);
    };
    const command_result refused = played({});
    check_says(refused.err, "requested 4194304 bytes (a block of 20971520), ");
    check_says(refused.err, "reduce controller.hbm_front.segment, because");
    const file smaller("hbm: {capacity_per_cube: 64 MiB}\ncontroller: {hbm_front: {segment: 4 MiB}}\n", "smaller.yaml");
    const command_result followed =
        run_tlmalloc({"replay", input.path, "--config", smaller.path, "--policy", "segment_cache"});
    BOOST_CHECK_MESSAGE(!contains(followed.err, "overflow"), followed.err);
    check_says(run_tlmalloc({"replay", input.path, "--capacity", "16 MiB", "--policy", "segment_cache"}).err,
               "set smaller segments (controller.*_front.segment)");
    const command_result run =
        run_tlmalloc({"run", small, "--kernel", "vector_add", "--set", "controller.tcm_policy=segment_cache", "--set",
                      "controller.tcm_front.segment=60 KiB", "--set", "tcm.capacity=50 KiB", "--set",
                      "tcm.scheduler_reserve=0 B"}); // of tiles of 4 KiB

    BOOST_CHECK_EQUAL(run.status, 1);
    check_says(run.err, "reduce controller.tcm_front.segment, because");
}

BOOST_AUTO_TEST_CASE(a_list_of_segments_is_not_reported_as_a_trace_of_the_profiler) {
    const file list("[{\"device\": 0, \"address\": 65536, \"total_size\": 2097152, \"allocated_size\": 0, "
                    "\"active_size\": 0, \"stream\": 0, \"segment_type\": \"small\", \"blocks\": [{\"size\": 2097152, "
                    "\"state\": \"inactive\"}]}]");
    const std::string text = refusal({"replay", list.path, "--capacity", "1 GiB"});
    check_says(text, "found a list of segments (torch.cuda.memory_snapshot()), but no events");
    check_says(text, "use `tlmalloc explain'");
    check_says_not(text, "trace of the profiler");
    check_says_not(run_tlmalloc({"explain", list.path}).out, "trace of the profiler");
}

BOOST_AUTO_TEST_CASE(plan_names_its_own_tables_and_reads_comments_and_quotes) {
    const std::string rows = "A,0,6,10\nB,7,8,10\n";
    const file unknown("buffer_id,start,end,size\n" + rows);
    const std::string text = refusal({"plan", unknown.path, "--capacity", "100"});
    check_says(text, ":1:1: found 'buffer_id', expected a column: id, lower (begin, start), upper or end, size");
    check_says(text, "or the header line of a trace, time_ns,op,id,bytes");
    const std::string plain = "id,lower,upper,size\n" + rows, quoted =
                                                                  "\"id\",\"lower\",\"upper\",\"size\"\n\"A\",0,6,10\n"
                                                                  "\"B\",7,\"8\",10\n";
    std::string expected;
    for (const std::string &table : {plain, quoted, "# a comment\n#\n" + plain, "# one\n" + quoted}) {
        const file input(table);
        const command_result run = run_tlmalloc({"plan", input.path, "--capacity", "100"});
        BOOST_CHECK_MESSAGE(run.status == 0, run.err);
        std::string says = run.out.substr(run.out.find('\n')); // behind the name of the file
        const std::size_t host = says.find("host time");
        BOOST_REQUIRE_NE(host, std::string::npos);
        says.erase(host, says.find('\n', host) - host);
        if (expected.empty()) expected = says;
        BOOST_CHECK_EQUAL(says, expected);
    }
    const file twice("# one\nid,lower,upper,size\nA,0,6,10\nA,7,8,10\n");
    check_says(refusal({"plan", twice.path, "--capacity", "100"}),
               ":4:1: found 'A', expected another id than in line 3");
}

BOOST_AUTO_TEST_CASE(serve_names_a_header_that_it_does_not_know) {
    const file burst("When,Model,Request tokens\n5,ChatGPT,472\n");
    const std::string text = refusal(
        {"serve", burst.path, "--settings", source + "configs/serving/small.yaml", "--step-time", "fixed 1 ms"});
    check_says(text, ":1:1: the column Timestamp is missing, expected Timestamp, Request tokens and Response tokens");
    const file other("When,Model\n5,ChatGPT\n");
    const std::string unknown = refusal(
        {"serve", other.path, "--settings", source + "configs/serving/small.yaml", "--step-time", "fixed 1 ms"});
    check_says(unknown, ":1:1: found 'When,Model', expected");
    check_says_not(unknown, "found no requests");
}

BOOST_AUTO_TEST_CASE(every_reader_reports_a_missing_file_and_a_directory_alike) {
    const file trace(events + "0,alloc,1,64\n", "t.csv");
    const std::string settings = source + "configs/serving/small.yaml", hbm2 = source + "configs/timing/hbm2.yaml";
    const std::string requests = trace.scratch.write("q.csv", "input,output\n1,1\n");
    const std::string report = trace.scratch.path("r.json"), out = trace.scratch.path("out");
    BOOST_REQUIRE_EQUAL(run_tlmalloc({"run", small, "--kernel", "dma_read", "--json", report}).status, 0);
    const std::vector<std::vector<std::string>> readers{
        {"run", "FILE"},
        {"run", small, "--from", "FILE"},
        {"run", small, "--kernel", "FILE.c"},
        {"run", small, "--kernel", "FILE.so"},
        {"replay", "FILE", "--capacity", "1 KiB"},
        {"replay", "FILE", "--as-recorded"},
        {"replay", trace.path, "--config", "FILE"},
        {"replay", trace.path, "--from", "FILE"},
        {"explain", "FILE"},
        {"explain", "FILE", "--pe", "0"},
        {"explain", "FILE", "--request", "8"},
        {"report", "FILE", "--output", out},
        {"report", report, "FILE", "--output", out},
        {"report", report, "--events", "FILE", "--output", out},
        {"age", "FILE", "--capacity", "1 KiB", "--output", out},
        {"plan", "FILE", "--capacity", "1 KiB"},
        {"serve", "FILE", "--settings", settings, "--step-time", "fixed 1 ms"},
        {"serve", requests, "--settings", "FILE", "--step-time", "fixed 1 ms"},
        {"serve", requests, "--settings", settings, "--step-time", "platform FILE"},
        {"traffic", "FILE", "--pattern", "chase"},
        {"traffic", hbm2, "FILE"},
        {"probe", "FILE"},
        {"reproduce", "FILE.yaml"},
        {"sweep", "FILE", "--output", out},
        {"study", "FILE"},
        {"topology", "FILE"},
        {"topology", small, "--svg", out, "--load", "FILE"},
        {"check", "FILE"},
    };
    for (const std::string reason : {"No such file or directory", "Is a directory"})
        for (std::vector<std::string> words : readers) {
            std::string path;
            for (std::string &word : words)
                if (const std::size_t at = word.find("FILE"); at != std::string::npos) {
                    path = trace.scratch.path("file" + word.substr(at + 4));
                    word.replace(at, std::string::npos, path);
                }
            if (reason[0] == 'I') std::filesystem::create_directory(path);
            const std::string text = refusal(words, 1);
            check_says(text, path + ": ");
            check_says(text, "cannot be read: " + reason + "\n");
            BOOST_CHECK(!std::filesystem::exists(out));
        }
}

BOOST_AUTO_TEST_CASE(every_option_that_takes_one_of_some_names_lists_them) {
    const file trace(events + "0,alloc,1,64\n"), table("id,lower,upper,size\nA,0,6,10\n");
    const struct {
        std::vector<std::string> words;
        std::vector<std::string> names;
    } all[] = {
        {{"plan", table.path, "--capacity", "10", "--method", "foo"}, {"stack", "lowest_first", "best", "exact"}},
        {{"age", trace.path, "--policy", "foo"}, {"first_fit", "best_fit", "buddy", "tlsf"}},
        {{"replay", trace.path, "--policy", "foo"}, {"first_fit", "tlsf", "caching_pool", "segment_cache", "lazy"}},
        {{"replay", trace.path, "--compare", "foo"}, {"first_fit", "caching_pool", "all"}},
        {{"replay", trace.path, "--config", small, "--memory", "foo"}, {"hbm", "tcm", "sram", "m_cpu", "host"}},
        {{"traffic", small, "--pattern", "foo"}, {"seq_rd", "chase"}},
        {{"run", small, "--kernel", "foo"}, {"gemm", "ring"}},
        {{"run", small, "--set", "mmu.walk=foo"}, {"ideal", "memory"}},
        {{"run", small, "--set", "controller.hbm_policy=foo"}, {"first_fit", "caching_pool"}},
        {{"run", small, "--set", "hbm.timing=foo"}, {"hbm3"}},
        {{"reproduce", "foo"}, {"allocator_felt", "kernbench_parity"}},
        {{"foo"}, {"run", "check"}},
    };
    for (const auto &one : all) {
        const command_result run = run_tlmalloc(one.words);
        BOOST_CHECK_MESSAGE(run.status == 2, one.words[0] << " " << one.words.back() << ": " << run.status);
        for (const std::string &name : one.names)
            BOOST_CHECK_MESSAGE(contains(run.err, name), one.words.back() << " without " << name << ": " << run.err);
    }
}

BOOST_AUTO_TEST_CASE(columns_stay_aligned_after_long_names) {
    const file trace(events + "0,alloc,1,64\n1,free,1,64\n");
    const command_result run = run_tlmalloc({"replay", trace.path, "--capacity", "64 MiB", "--compare",
                                             "first_fit,growing_pool/first_fit_top,segment_cache/first_fit_top"});
    BOOST_REQUIRE_MESSAGE(run.status == 0, run.err);
    std::istringstream lines(run.out);
    std::vector<std::string> table;
    for (std::string line; std::getline(lines, line);)
        if (line.rfind("policy", 0) == 0 || !table.empty()) table.push_back(line);
    BOOST_REQUIRE_GE(table.size(), 5u);
    const std::size_t end = table[0].find("fits in") + 7; // right-aligned
    for (std::size_t i = 2; i < 5; i++) {
        BOOST_CHECK_MESSAGE(table[i].size() == table[0].size(), table[i]);
        BOOST_CHECK_MESSAGE(table[i].at(end - 1) != ' ' && table[i].at(end) == ' ', table[i]);
    }
}

// What a kernel does wrong is told with the kernel, the call and the tile.
BOOST_AUTO_TEST_CASE(a_kernel_that_misuses_a_tile_is_reported_with_kernel_call_and_tile) {
    const std::string kernel = read_text(source + "platform/kernels/vector_add.c");
    const auto changed = [&](const std::string &from, const std::string &to) {
        std::string text = kernel;
        const std::size_t at = text.find(from);
        BOOST_REQUIRE_MESSAGE(at != std::string::npos, from);
        return text.replace(at, from.size(), to);
    };
    const std::string load = "tla_status status = tl_load(tl, &block[A], at[A], row_bytes);",
                      add = "if (status == TLA_OK) status = tl_add(tl, ";
    const struct {
        std::string text, guard, says;
    } all[] = {
        {changed(load,
                 "tl_handle handle; tla_status status = tl_load_async(tl, &block[A], at[A], row_bytes, &handle);"),
         "off", "tl_add: a tile of 1 x 1024 of f32 that tl_load_async still fills (handle 1): call tl_wait first"},
        {changed(add, "if (status == TLA_OK) status = tl_free(tl, &tiles[B]);\n" + add), "error",
         "tl_add: a tile of 1 x 1024 of f32 at 0x1000 that this kernel has freed"},
        {changed(add, "if (status == TLA_OK) status = tl_free(tl, &tiles[B]);\n" + add), "report",
         "pe0.element: tl_add: a tile of 1 x 1024 of f32 at 0x1000 that this kernel has freed"},
        {changed(load, "tl_free(tl, &tiles[A]); " + load), "error",
         "tl_load: a tile of 1 x 1024 of f32 at 0x0 that this kernel has freed"},
        {changed(add, "if (status == TLA_OK) status = tl_free(tl, &tiles[B]);\n" + add), "off",
         "tl_free: a tile of 1 x 1024 of f32 at 0x1000 that this kernel has freed"},
    };
    for (const auto &one : all) {
        const file input(one.text, "wrong.c");
        const command_result run =
            run_tlmalloc({"run", small, "--kernel", input.path, "--set", "controller.guard=" + one.guard});
        BOOST_CHECK_EQUAL(run.status, 1);
        check_says(run.err, one.says);
        check_says(run.err, "kernel vector_add (");
    }
}

// At every point at which a run may find no host memory it ends with a text and status 1.
BOOST_AUTO_TEST_CASE(a_run_without_host_memory_reports_it_wherever_memory_runs_out) {
    if (is_sanitized()) return; // the sanitizers' own memory is counted, too
    const auto limited = [](std::uint64_t kib) {
        return run_shell("ulimit -v " + std::to_string(kib) + " && exec \"$tlmalloc\" run '" + small +
                         "' --kernel vector_add --set workload.elements_per_pe=1000000");
    };
    const command_result plenty = limited(UINT64_C(1) << 26);
    if (plenty.status != 0) return; // the host gives no process so many addresses
    // From what it occupied on, which is less than its addresses.
    std::uint64_t low = static_cast<std::uint64_t>(plenty.max_rss_kib) / 2, high = 2 * low;
    while (limited(high).status != 0) {
        low = high;
        high *= 2;
    }
    while (high - low > 2000) {
        const std::uint64_t middle = (low + high) / 2;
        (limited(middle).status == 0 ? high : low) = middle;
    }
    for (const std::uint64_t i : numbers_of_today(0, 15, 3)) {
        const command_result run = limited(low - i * 4000);
        BOOST_CHECK_MESSAGE(run.status == 1, run.status << ": " << run.err);
        check_says(run.err, "tlmalloc run: ");
        check_says_not(run.err, "uncaught");
        BOOST_CHECK_MESSAGE(contains(run.err, "no host memory") || contains(run.err, "the host"), run.err);
    }
}
