// Kernels out of files of their own: compiled, loaded, refused, and ended when they go wrong.
#include "platform/doubling_kernel.hpp"
#include "platform/run_report.hpp"
#include "today.hpp"

#include <fstream>
#include <regex>

namespace {

const std::string npu_small = TLMALLOC_SOURCE_DIR "/configs/npu_small.yaml";
const std::string headers = TLMALLOC_SOURCE_DIR "/include";

command_result run_kernel(const std::string &kernel, std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"run", npu_small, "--kernel", kernel});
    return run_tlmalloc(more);
}

// NEAR in a text is an address of a member of a structure at 8: a compiler decides which is read first.
void check_says(command_result result, int status, const std::string &text) {
    BOOST_CHECK_EQUAL(result.status, status);
    if (contains(text, " NEAR ")) result.err = std::regex_replace(result.err, std::regex(" 0x([1-3])?[08] "), " NEAR ");
    BOOST_CHECK_MESSAGE(contains(result.err, text), "expected '" << text << "', found: " << result.err);
}

// Compiles as a user would, with the compiler's own start files.
void compile(const std::string &from, const std::string &to, const std::string &options = "") {
    const command_result made = run_shell("cc -std=c17 -O1 -shared -fPIC " + options + " -I'" + headers + "' '" + from +
                                          "' -o '" + to + "' -lm");
    BOOST_REQUIRE_MESSAGE(made.status == 0, made.err);
}

std::string bytes_of(const std::vector<float> &values) {
    return {reinterpret_cast<const char *>(values.data()), values.size() * sizeof(float)};
}

} // namespace

BOOST_AUTO_TEST_CASE(every_kernel_of_the_platform_compiles_alone_and_does_the_same) {
    BOOST_CHECK_GE(kernel_names().size(), 3u);
    for (const std::string &name : some_of_today(kernel_names(), 4)) {
        scratch_directory empty;
        const std::string copy = empty.path(name + ".c");
        std::filesystem::copy_file(TLMALLOC_SOURCE_DIR "/platform/kernels/" + name + ".c", copy);
        report built_in = run(npu_small, {"--kernel", name}), own = run(npu_small, {"--kernel", copy});
        BOOST_CHECK_EQUAL(own.run.status, 0);
        for (report *r : {&built_in, &own})
            json_object_del(r->json.get(), "host_seconds");
        BOOST_CHECK_MESSAGE(json_equal(built_in.json.get(), own.json.get()), name);
    }
}

BOOST_AUTO_TEST_CASE(a_failed_call_that_a_kernel_ignores_is_reported_with_its_leaks) {
    scratch_directory scratch;
    const std::string file =
        scratch.write("doubling.c", doubling("", "tl_load_async(tl, &tile, (tla_vaddr){tl_argument(tl, 0) + offset}, "
                                                 "part * 4, NULL); tl_add(tl, &tile, &tile, &tile); return TLA_OK;"));
    const command_result result = run_kernel(file);
    check_says(result, 1, "wrong result: y[0] is 0\n");
    check_says(result, 1,
               "4 leaks: not all memory was freed: npu.sip0.cube0.pe0.controller: TCM, 64 bytes; "
               "npu.sip0.cube0.pe1.controller: TCM, 64 bytes");
    check_says(result, 1,
               "the kernel on sip0.cube0.pe0 ignored a failed call: TLA_BUSY: tl_add: a tile of 1 x 16 of f32 that "
               "tl_load_async still fills");
    // A kernel may ignore a failure whose result is right.
    const std::string right = scratch.write("right.c", doubling("", "(void)tl_wait(tl, (tl_handle){77});"));
    const command_result quiet = run_kernel(right);
    BOOST_CHECK_EQUAL(quiet.status, 0);
    BOOST_CHECK_EQUAL(quiet.err, "");
}

BOOST_AUTO_TEST_CASE(a_shared_object_that_its_user_compiled_runs) {
    scratch_directory scratch;
    const std::string file = scratch.write("doubling.c", doubling("static const int two[] = {2};", "(void)two;"));
    compile(file, scratch.path("doubling.so"));
    for (const std::string &kernel : {file, scratch.path("doubling.so")}) {
        const report r = run(npu_small, {"--kernel", kernel, "--set", "system.pes_per_cube=2"});
        BOOST_CHECK_MESSAGE(r.run.status == 0, r.run.err);
        const json_t *row = json_array_get(r.list("kernels"), 1);
        BOOST_CHECK_EQUAL(json_string_value(json_object_get(row, "name")), "doubling");
        BOOST_CHECK(json_is_true(json_object_get(row, "verified")));
    }
}

BOOST_AUTO_TEST_CASE(the_messages_of_the_compiler_are_shown) {
    scratch_directory scratch;
    const std::string file = scratch.write("k.c", doubling("", "status = no_such_thing;"));
    const command_result result = run_kernel(file);
    check_says(result, 2, "undeclared (first use in this function)");
    check_says(result, 2, "tlmalloc run: --kernel: " + file + ": does not compile: see the messages of cc above\n");
    BOOST_CHECK_EQUAL(result.out, "");
    const command_result none =
        run_shell("CC=no-such-cc \"$tlmalloc\" run '" + npu_small + "' --kernel '" + file + "'");
    check_says(none, 2, "C compiler 'no-such-cc' not found: install gcc, name another compiler in CC, or compile");
    // Nothing is left of a compilation, whether it went well or not.
    const std::string folder = scratch.path("tmp"), good = scratch.write("good.c", doubling("", ""));
    std::filesystem::create_directory(folder);
    for (const std::string &kernel : {file, good}) {
        run_shell("TMPDIR='" + folder + "' \"$tlmalloc\" run '" + npu_small + "' --kernel '" + kernel + "'");
        BOOST_CHECK(std::filesystem::is_empty(folder));
    }
}

BOOST_AUTO_TEST_CASE(an_object_that_is_not_a_kernel_of_this_platform_is_rejected_with_a_text) {
    scratch_directory scratch;
    std::size_t number = today(); // by turns as an object and as a file, the other way on the next day
    const auto refused = [&](const std::string &text, const std::string &reason, const std::string &options = "") {
        const std::string file = scratch.write("k.c", text), object = scratch.path("k.so");
        const bool is_object = !options.empty() || number++ % 2;
        if (is_object || all_is_tested()) {
            compile(file, object, options);
            check_says(run_kernel(object), 2, reason);
        }
        if (options.empty() && (!is_object || all_is_tested())) check_says(run_kernel(file), 2, reason);
    };
    const std::string includes = "#include \"tlmalloc/kernel.h\"\n";
    const std::string info = "extern const tl_kernel_info tl_kernel_declaration;\nconst tl_kernel_info "
                             "tl_kernel_declaration = ";
    refused(includes + info + "{.calls_version = 7, .calls_bytes = sizeof(tl_calls), .bytes = sizeof(tl_kernel_info)};",
            "the kernel was compiled for version 7 of the call table, expected version 2: recompile it");
    refused(includes + info + "{.calls_version = TL_CALLS_VERSION, .calls_bytes = 4000, .bytes = 80};",
            "the kernel was compiled for a later tlmalloc, whose call table has 4000 bytes");
    refused(includes + "int nothing(void);\nint nothing(void) { return 0; }", "declares no kernel");
    refused(doubling("int elsewhere(void);", "status = elsewhere();"), "undefined symbol: elsewhere");
    refused(includes + "TL_KERNEL(.name = \"no word\");", "the kernel's name must be 1 to 63 letters");
    refused(includes + "TL_KERNEL(.name = \"k\");", "the kernel has no function");
    refused(doubling("", "", "{.name = \"x\", .shape = {4}}"), "argument 1 is tensor 1, but the kernel has 1 tensors");
    refused(doubling("", "", "{.name = \"x\"}"), "tensor 'x' has no shape");
    refused(doubling("", "", "{.name = \"x\", .dtype = 99, .shape = {4}}"), "tensor 'x': unknown type");
    refused(doubling("", "", "{.name = \"x\", .shape = {4}, .use = TL_OUT, .spread = TL_REPLICATED}"),
            "tensor 'x' is replicated and written");
    refused(doubling("", "", "{.name = \"x\", .shape = {TL_PARAMETER(0)}}"),
            "tensor 'x': dimension 0 is parameter 0, but the kernel has 0 parameters");
    const auto with = [](const std::string &parameters, const std::string &shape) {
        return doubling("", "", "{.name = \"x\", .shape = {" + shape + "}}}, .parameters = {" + parameters);
    };
    refused(with("{\"n\", 3}", "TL_PARAMETER(0)"),
            "tensor 'x': dimension 0 is parameter 'n', which may be 0: set its least to 1 or more");
    refused(with("{\"n\", 3, .least = 4}", "4"), "parameter 'n': 3 is out of its range, 4 .. 4294967295");
    refused(with("{\"a b\", 3}", "4"), "the name of parameter 0 must be 1 to 63 letters, digits and underscores");
    refused(doubling("static int unused[2] = {3};", "unused[0]++;"), "that is not stripped", "-s");
    check_says(run_kernel(scratch.write("text.so", "no object")), 2, "text.so: expected an ELF object of this machine");
    check_says(run_kernel(scratch.path("none.so")), 1, "none.so: cannot be read: No such file or directory");
    check_says(run_kernel(scratch.path("none.c")), 1, "none.c: cannot be read: No such file or directory");
}

BOOST_AUTO_TEST_CASE(static_variables_that_can_be_written_are_rejected_by_name) {
    scratch_directory scratch;
    const std::vector<std::pair<std::string, std::string>> writable{
        {"static int counter;", "counter++;"},
        {"int counter = 3;", "counter++;"},
        {"static _Thread_local int counter;", "counter++;"},
        {"static const char *counter = \"\";", "counter++;"},
        {"", "static int counter; counter++;"},
    };
    for (const auto &[before, inside] : writable) {
        const std::string file =
            scratch.write("k.c", doubling(before, inside + " if (counter) tl_num_programs(tl, TL_ALL);"));
        compile(file, scratch.path("k.so"));
        for (const std::string &kernel : {file, scratch.path("k.so")})
            check_says(run_kernel(kernel), 2, kernel + ": the static variable 'counter' of ");
    }
}

BOOST_AUTO_TEST_CASE(tensors_are_filled_from_files_and_compared_with_them) {
    scratch_directory scratch;
    std::vector<float> x(64), y(64);
    for (std::size_t i = 0; i < x.size(); i++)
        y[i] = 2 * (x[i] = static_cast<float>(i) - 7);
    scratch.write("x.bin", bytes_of(x));
    scratch.write("y.bin", bytes_of(y));
    std::string tensors = "{.name = \"x\", .dtype = TL_F32, .shape = {64}, .file = \"x.bin\"}, "
                          "{.name = \"y\", .dtype = TL_F32, .shape = {8, 8}, .use = TL_OUT, .file = \"y.bin\"}";
    const std::string file = scratch.write("k.c", doubling("", "", tensors));
    BOOST_CHECK(contains(run_kernel(file).out, "result verified"));
    y[9] = 5;
    scratch.write("y.bin", bytes_of(y));
    check_says(run_kernel(file), 1, "wrong result: y[9] is 0x40800000, expected 0x40a00000 as in y.bin");
    scratch.write("y.bin", bytes_of(y) + "more");
    check_says(run_kernel(file), 2, "y.bin: found more than 256 bytes, expected 256");
    scratch.write("x.bin", "short");
    check_says(run_kernel(file), 2, "x.bin: found 5 bytes, expected 256");
    std::filesystem::remove(scratch.path("x.bin"));
    check_says(run_kernel(file), 1, "x.bin: cannot be read: No such file or directory");
}

BOOST_AUTO_TEST_CASE(tensors_lie_where_their_declaration_says) {
    scratch_directory scratch;
    const std::string tensors = "{.name = \"x\", .dtype = TL_F32, .shape = {64}, .spread = TL_REPLICATED}, "
                                "{.name = \"y\", .dtype = TL_F32, .shape = {64}, .use = TL_OUT, .memory = TL_SRAM}";
    const report r = run(npu_small, {"--kernel", scratch.write("k.c", doubling("", "", tensors))});
    BOOST_CHECK_MESSAGE(r.run.status == 0, r.run.err);
    json_t *x = json_array_get(r.list("tensors"), 0);
    BOOST_CHECK_EQUAL(number(x, "shards"), 4); // a copy for each PE
}

BOOST_AUTO_TEST_CASE(a_tensor_may_lie_in_the_hosts_memory) {
    scratch_directory scratch;
    const std::string tensors = "{.name = \"x\", .dtype = TL_F32, .shape = {64}, .memory = TL_HOST}, "
                                "{.name = \"y\", .dtype = TL_F32, .shape = {64}, .use = TL_OUT, .memory = TL_HOST}";
    const std::string file = scratch.write("k.c", doubling("", "", tensors));
    const report r = run(npu_small, {"--kernel", file, "--set", "host_memory.capacity=64 KiB"});
    BOOST_CHECK_MESSAGE(r.run.status == 0, r.run.err);
    BOOST_CHECK(contains(r.run.out, "result verified; leaks 0"));
    json_t *memory = json_array_get(r.list("host_memory"), 0);
    BOOST_CHECK_EQUAL(number(memory, "bytes_written"), 2 * 256); // x by the host, y by the PEs
    BOOST_CHECK_EQUAL(number(memory, "bytes_read"), 2 * 256);
    BOOST_CHECK_EQUAL(r.sum("slices", "bytes_written"), 0);
    json_t *controllers = r.list("controllers"), *last = json_array_get(controllers, json_array_size(controllers) - 1);
    BOOST_CHECK_EQUAL(json_string_value(json_object_get(last, "channel")), std::string("host"));
    BOOST_CHECK_EQUAL(number(last, "allocs"), 8);
    BOOST_CHECK_GT(number(last, "busy_ps"), 0);
    for (const std::string name : {"a", "b"}) // the same twice, byte for byte
        BOOST_CHECK_EQUAL(run_kernel(file, {"--set", "host_memory.capacity=64 KiB", "--json",
                                            scratch.path(name + ".json"), "--vcd", scratch.path(name + ".vcd")})
                              .status,
                          0);
    const std::string vcd = read_text(scratch.path("a.vcd"));
    BOOST_CHECK(vcd == read_text(scratch.path("b.vcd")));
    BOOST_CHECK(read_text(scratch.path("a.json")) == read_text(scratch.path("b.json")));
    for (const char *signal :
         {" host_memory ", " host_used_bytes ", " host_free_blocks ", " host_to_host_memory_busy_ps "})
        BOOST_CHECK_MESSAGE(contains(vcd, signal), signal);
    check_says(run_kernel(file), 1,
               "TLA_INVALID_ARGUMENT: tensor x: the host has no memory in this platform: host_memory.capacity is 0 B");
}

BOOST_AUTO_TEST_CASE(the_hosts_memory_may_be_ddr5) {
    scratch_directory scratch;
    const std::string tensors = "{.name = \"x\", .dtype = TL_F32, .shape = {64}, .memory = TL_HOST}, "
                                "{.name = \"y\", .dtype = TL_F32, .shape = {64}, .use = TL_OUT, .memory = TL_HOST}";
    const std::string file = scratch.write("k.c", doubling("", "", tensors));
    const auto run_on = [&file](std::vector<std::string> settings) {
        settings.insert(settings.begin(), {"--kernel", file, "--set", "host_memory.capacity=64 KiB"});
        report r = run(npu_small, settings);
        BOOST_REQUIRE_MESSAGE(r.run.status == 0, r.run.err);
        return r;
    };
    const report ddr5 = run_on({"--set", "host_memory.timing=ddr5"});
    const json_t *const memory = json_array_get(ddr5.list("host_memory"), 0);
    BOOST_CHECK_EQUAL(number(memory, "read_commands") * 64, number(memory, "bytes_read")); // bursts of 64 B
    BOOST_CHECK_GT(number(memory, "activates"), 0);
    // A read waits for tRCD, CL and the burst, as long as without banks, and for refreshes and rows; a write does not.
    BOOST_CHECK_NE(ddr5.number("sim_time_ps"), run_on({}).number("sim_time_ps"));
    const report later = run_on({"--set", "host_memory.timing=ddr5", "--set", "host_memory.latency=1 us"});
    BOOST_CHECK_EQUAL(ddr5.number("sim_time_ps"), later.number("sim_time_ps"));
    BOOST_CHECK_MESSAGE(contains(later.run.err, "host_memory.latency has no effect"), later.run.err);
    check_says(run_kernel(file, {"--set", "host_memory.capacity=64 KiB", "--set", "host_memory.timing=ddr6"}), 2,
               "did you mean \"ddr5\"?");
}

BOOST_AUTO_TEST_CASE(a_wrong_kernel_is_stopped_and_reported) {
    scratch_directory scratch;
    const std::string deep = "static int deeper(int n) { volatile char frame[1000]; frame[n % 1000] = 1; "
                             "return n ? deeper(n - 1) + frame[3] : 0; }";
    const std::string in_code = " in its own code after tl_load, its call 2";
    struct wrong_kernel {
        std::string before, inside, says;
    };
    const std::vector<wrong_kernel> wrong{
        {"", "*(volatile int *)(uintptr_t)(16 * tl_num_programs(tl, TL_ALL)) = 1;",
         "TLA_CRASHED: kernel doubling (FILE) on sip0.cube0.pe0: segmentation fault at address 0x40" + in_code},
        {"", "status = tl_fill(tl, (const tl_tile *)(uintptr_t)8, 0);",
         ") on sip0.cube0.pe0: segmentation fault at address NEAR in tl_fill, its call 3"},
        {"", "abort();", "abort" + in_code},
        {"", "__builtin_trap();", "illegal instruction" + in_code},
        {deep, "status = deeper(1000000);", "stack overflow" + in_code + ": more than pe.stack, 65536 bytes"},
        {"static tla_status calling(tl_context *tl, const tl_tile *t, int n) { volatile char frame[1000]; "
         "frame[n % 1000] = 1; tl_fill(tl, t, 1); return n ? calling(tl, t, n - 1) + frame[7] : 0; }",
         "status = calling(tl, &tile, 1000000);", "stack overflow in tl_fill, its call "},
        {"", "for (volatile int i = 0;;) i++;",
         "TLA_TIMEOUT: kernel doubling (FILE) on sip0.cube0.pe0: makes no more calls," + in_code +
             ": more than pe.host_limit, 200 ms of real time"},
        {"", "for (;;) tl_fill(tl, &tile, 1);", "does not return, in tl_fill, its call "},
        {"", "tl_tile half = tile; half.columns /= 2; status = tl_add(tl, &half, &tile, &tile);",
         "TLA_INVALID_ARGUMENT: kernel doubling (FILE) on sip0.cube0.pe0: tl_add: operand 1 is 1 x 16 and the result 1 "
         "x 8: must be the same shape"},
        {"", "status = tl_store(tl, (tla_vaddr){tl_argument(tl, 0)}, 64, &tile);",
         ": a transaction returned an error response: the memory must be mapped and writable (of a tensor that is "
         "TL_OUT or TL_INOUT)"},
        {"", "status = tl_load(tl, &tile, (tla_vaddr){64}, 64);",
         "tl_load from 0x40: a transaction returned an error response: the memory must be mapped"},
        {"", "status = tl_load_masked(tl, &tile, (tla_vaddr){tl_argument(tl, 0)}, 64, 1, 17, 0);",
         "tl_load_masked: a mask of 1 x 17 for a tile of 1 x 16: must not exceed the tile"},
        {"", "tile.dtype = (tl_dtype)99; status = tl_fill(tl, &tile, 0); tile.dtype = TL_F32;",
         "a tile of the unknown type 99: use a value of tl_dtype"},
        {"",
         "tl_tile t; status = tl_scratch(tl, 512, 1, TL_F64, &t); if (!status) status = tl_scratch(tl, 1, 1, TL_U8, "
         "&t);",
         "tl_scratch: requested 1 x 1 of u8, 1 bytes, but 0 are free of pe.scratch, 4096 bytes"},
        {"", "tile = tl_view(tl, &tile, 0, 8, 1, 9);",
         "TLA_INVALID_ARGUMENT: kernel doubling (FILE) on sip0.cube0.pe0: tl_view: a view of 1 x 9 from row 0 and "
         "column 8: must be inside the tile of 1 x 16"},
        {"", "status = tl_fail(tl, TLA_UNSUPPORTED, \"the moon is full\");",
         "TLA_UNSUPPORTED: kernel doubling (FILE) on sip0.cube0.pe0: the moon is full\n"},
    };
    for (const wrong_kernel &w : some_of_today(wrong, 3)) {
        const std::string file = scratch.write("k.c", doubling(w.before, w.inside));
        std::string says = w.says;
        if (const std::size_t at = says.find("FILE"); at != std::string::npos) says.replace(at, 4, file);
        const command_result result = run_kernel(
            file, with_prices({"pe.stack=64 KiB", "pe.host_limit=200 ms", "pe.time_limit=50 us", "pe.scratch=4 KiB"}));
        check_says(result, 1, says);
        BOOST_CHECK_MESSAGE(!contains(result.err, "leaks"), result.err); // what it held has been freed
    }
}

BOOST_AUTO_TEST_CASE(a_crash_in_a_users_object_names_the_file_and_the_call) {
    scratch_directory scratch;
    const std::string object = scratch.path("wild.so");
    compile(scratch.write("wild.c", doubling("", "status = tl_fill(tl, (const tl_tile *)(uintptr_t)8, 0);")), object);
    check_says(run_kernel(object), 1,
               "TLA_CRASHED: kernel doubling (" + object +
                   ") on sip0.cube0.pe0: segmentation fault at address NEAR in tl_fill, its call 3");
}

BOOST_AUTO_TEST_CASE(a_check_or_inputs_that_crash_are_reported) {
    scratch_directory scratch;
    const std::string wild = "static void wild(const tl_workload *w, void *bytes) { (void)bytes; "
                             "*(volatile int *)(uintptr_t)(w->programs * 4) = 1; }";
    const std::string file = scratch.write("k.c", doubling(wild, "",
                                                           "{.name = \"x\", .dtype = TL_F32, .shape = {64}, "
                                                           ".fill = wild}, {.name = \"y\", .dtype = TL_F32, "
                                                           ".shape = {64}, .use = TL_OUT}"));
    check_says(run_kernel(file), 1,
               "TLA_CRASHED: kernel doubling (" + file +
                   "), its inputs: segmentation fault at "
                   "address 0x10\n");
    std::string text = doubling("", "");
    text.replace(text.find("(void)workload;"), 15, "abort();");
    check_says(run_kernel(scratch.write("k.c", text)), 1, "its check: abort\n");
}

BOOST_AUTO_TEST_CASE(a_kernel_that_fails_on_one_pe_leaves_the_others_and_the_report_whole) {
    scratch_directory scratch;
    const std::string file = scratch.write(
        "k.c",
        doubling("",
                 "if (tl_program_id(tl, TL_ALL) == 2) *(volatile int *)(uintptr_t)tl_num_programs(tl, TL_ALL) = 0;"));
    const report r = run(npu_small, {"--kernel", file});
    check_says(r.run, 1, "on sip0.cube0.pe2: segmentation fault at address 0x4");
    BOOST_CHECK_EQUAL(r.number("leaks"), 0);
    for (std::size_t pe = 0; pe < 4; pe++) {
        const json_t *row = json_array_get(r.list("kernels"), pe);
        BOOST_CHECK_GT(number(row, "end_ps"), 0);
    }
}
