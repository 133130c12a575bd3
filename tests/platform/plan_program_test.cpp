// `tlmalloc plan` on programs whose values share bytes: addresses, the literal rule's faults, and what it refuses.
#include "../unit/naive_program.hpp"
#include "platform/command_line.hpp"

#include <jansson.h>
#include <map>

namespace {

using rows = std::map<std::string, std::uint64_t>;

// The last column of a table, by its first.
rows offsets_of(const std::string &text) {
    rows found;
    std::istringstream in(text);
    std::string line;
    BOOST_REQUIRE(std::getline(in, line));
    BOOST_REQUIRE_EQUAL(line.substr(line.rfind(',')), ",offset");
    while (std::getline(in, line))
        found[line.substr(0, line.find(','))] = std::stoull(line.substr(line.rfind(',') + 1));
    return found;
}

// The program of a table: a concat in place.
const std::string joined = "id,operands,size,view,io\n"
                           "x,,8192,,input\n"
                           "a,x,8000,,\n"
                           "b,x,12000,,\n"
                           "c,a,4000,,\n"
                           "k,a b c,24000,concat,\n"
                           "y,k,16384,,output\n";

// s outlives the concat of a and b, and the literal rule gives its bytes to w, which reads them.
const std::string outlived = "id,operands,size,view,from,io\n"
                             "x,,4096,,,input\n"
                             "a,x,8192,,,\n"
                             "b,x,16384,,,\n"
                             "s,b,4096,slice,8192,\n"
                             "k,a b,24576,concat,,\n"
                             "y,k,12288,,,\n"
                             "z,y,20480,,,\n"
                             "w,z s,28672,,,output\n";

std::string table_of(const naive::program &p) {
    static const char *const views[] = {"", "", "concat", "reshape", "slice"};
    std::ostringstream out;
    out << "id,operands,size,view,from,io\n";
    for (std::size_t i = 0; i < p.ops.size(); i++) {
        const naive::op &o = p.ops[i];
        out << 'v' << i << ',';
        for (const std::size_t v : o.in)
            out << 'v' << v << ' ';
        out << ',' << o.nbytes << ',' << views[static_cast<int>(o.what)] << ',';
        if (o.what == naive::kind::slice) out << o.offset;
        out << ',' << (o.what == naive::kind::input ? "input" : p.is_output(i) ? "output" : "") << '\n';
    }
    return out.str();
}

} // namespace

BOOST_AUTO_TEST_CASE(views_have_the_bytes_of_their_operands) {
    scratch_directory scratch;
    const std::string table = scratch.write("p.csv", joined), out = scratch.path("out.csv");
    for (const char *method : {"exact", "best", "stack", "fit_first", "size_order", "tflm_greedy", "greedy_area",
                               "greedy_lifetime", "greedy_conflicts", "lowest_first", "xnnpack", "xnnpack_repaired"}) {
        const command_result run =
            run_tlmalloc({"plan", table, "--capacity", "1 MiB", "--method", method, "--align", "4 KiB", "-o", out});
        BOOST_REQUIRE_MESSAGE(run.status == 0, method << ": " << run.err);
        rows at = offsets_of(read_text(out));
        BOOST_CHECK_EQUAL(at["k"], at["a"]);
        BOOST_CHECK_EQUAL(at["b"], at["a"] + 8000);
        BOOST_CHECK_EQUAL(at["c"], at["a"] + 20000);
    }
    const command_result run = run_tlmalloc({"plan", table, "--minimize", "--align", "4 KiB"});
    BOOST_CHECK(contains(run.out, "p.csv, 3 buffers\n"));
    BOOST_CHECK(contains(run.out, "49152 bytes, +0.00 % over the bound"));
    BOOST_CHECK(contains(run.out, "program          6 values, repaired rule, address mode basic\n"
                                  "other values     49152 bytes at 0\n"));
}

BOOST_AUTO_TEST_CASE(inputs_and_outputs_lie_where_the_address_mode_says) {
    const std::uint64_t tag = std::uint64_t{1} << 36;
    const std::map<std::string, rows> expected{
        {"basic", {{"x", 40960}, {"a", 0}, {"k", 0}, {"y", 24576}}},
        {"io_tag", {{"x", 2 * tag}, {"a", 0}, {"k", 0}, {"y", tag}}},
        {"io_tag_fuse", {{"x", tag}, {"a", 0}, {"k", 0}, {"y", 2 * tag}}},
        {"io_alone", {{"x", 40960}, {"a", 0}, {"k", 0}, {"y", 24576}}},
        {"io_reloc", {{"x", 49152}, {"a", 0}, {"k", 0}, {"y", 57344}}},
    };
    scratch_directory scratch;
    const std::string table = scratch.write("p.csv", joined), out = scratch.path("out.csv");
    for (const auto &[mode, places] : expected) {
        const command_result run = run_tlmalloc({"plan", table, "--method", "size_order", "--align", "4 KiB",
                                                 "--address-mode", mode, "-o", out, "--map", scratch.path("m.svg")});
        BOOST_REQUIRE_MESSAGE(run.status == 0, mode << ": " << run.err);
        rows at = offsets_of(read_text(out));
        for (const auto &[id, place] : places)
            BOOST_CHECK_MESSAGE(at[id] == place, mode << ": " << id << " at " << at[id] << ", expected " << place);
        BOOST_CHECK_EQUAL(contains(run.out, "inputs, outputs  49152 bytes at 0\n"), mode == "io_alone");
    }
}

BOOST_AUTO_TEST_CASE(a_literal_plan_names_the_bytes_that_it_overwrites) {
    scratch_directory scratch;
    const std::string table = scratch.write("p.csv", "# comment\n" + outlived), json = scratch.path("r.json");
    for (const bool literal : {true, false}) {
        std::vector<std::string> words{"plan", table, "--method", "size_order", "--align", "4096", "--json", json};
        if (literal) words.emplace_back("--literal");
        const command_result run = run_tlmalloc(words);
        BOOST_REQUIRE_EQUAL(run.status, 0);
        BOOST_CHECK_EQUAL(
            contains(run.out, "wrong            w (line 10) overwrites 4096 bytes of s (line 6) at 16384\n"), literal);
        json_t *report = json_load_file(json.c_str(), 0, nullptr);
        BOOST_REQUIRE(report);
        const json_t *program = json_object_get(report, "program"), *lost = json_object_get(program, "overwritten");
        BOOST_CHECK_EQUAL(json_integer_value(json_object_get(report, "height")), literal ? 65536 : 77824);
        BOOST_CHECK_EQUAL(json_integer_value(json_object_get(program, "overwritten_pairs")), literal);
        BOOST_CHECK_EQUAL(json_array_size(lost), literal);
        BOOST_CHECK_EQUAL(json_integer_value(json_object_get(json_array_get(lost, 0), "bytes")), literal ? 4096 : 0);
        json_decref(report);
    }
}

// Twelve slices of b outlive the concat: w is placed over all of them.
BOOST_AUTO_TEST_CASE(a_literal_plan_counts_all_pairs_and_names_the_first_ten) {
    std::string many = "id,operands,size,view,from,io\nx,,4096,,,input\na,x,8192,,,\nb,x,16384,,,\n", read;
    for (int i = 0; i < 12; i++) {
        many += "s" + std::to_string(i) + ",b,256,slice," + std::to_string(8192 + 256 * i) + ",\n";
        read += " s" + std::to_string(i);
    }
    many += "k,a b,24576,concat,,\ny,k,12288,,,\nz,y,20480,,,\nw,z" + read + ",28672,,,output\n";
    scratch_directory scratch;
    const std::string table = scratch.write("p.csv", many), json = scratch.path("r.json");
    const command_result run =
        run_tlmalloc({"plan", table, "--method", "size_order", "--align", "4096", "--literal", "--json", json});
    BOOST_REQUIRE_EQUAL(run.status, 0);
    for (int i = 0; i < 12; i++)
        BOOST_CHECK_EQUAL(contains(run.out, "wrong            w (line 20) overwrites 256 bytes of s" +
                                                std::to_string(i) + " (line " + std::to_string(5 + i) + ") at " +
                                                std::to_string(16384 + 256 * i) + "\n"),
                          i < 10);
    BOOST_CHECK(contains(run.out, "wrong            and 2 more of 12 pairs of values\n"));
    json_t *report = json_load_file(json.c_str(), 0, nullptr);
    BOOST_REQUIRE(report);
    const json_t *program = json_object_get(report, "program");
    BOOST_CHECK_EQUAL(json_integer_value(json_object_get(program, "overwritten_pairs")), 12);
    BOOST_CHECK_EQUAL(json_array_size(json_object_get(program, "overwritten")), 10u);
    json_decref(report);
}

BOOST_AUTO_TEST_CASE(random_programs_read_what_they_wrote_unless_the_report_says_otherwise) {
    seeded_random random(53); // whose first literal plan is wrong
    scratch_directory scratch;
    const std::string out = scratch.path("out.csv");
    for (int i = 0; i < 30; i++) {
        naive::program p = naive::draw(random, false);
        p.mode = i % 2 ? TLA_ADDRESS_IO_ALONE : TLA_ADDRESS_BASIC;
        const std::string table = scratch.write("p.csv", table_of(p));
        for (const bool literal : {false, true}) {
            std::vector<std::string> words{"plan",
                                           table,
                                           "-o",
                                           out,
                                           "--method",
                                           "tflm_greedy",
                                           "--align",
                                           std::to_string(p.alignment),
                                           "--address-mode",
                                           tla_address_mode_name(p.mode)};
            if (literal) words.emplace_back("--literal");
            const command_result run = run_tlmalloc(words);
            BOOST_REQUIRE_MESSAGE(run.status == 0, run.err << p.text());
            rows found = offsets_of(read_text(out));
            std::vector<std::uint64_t> at;
            for (std::size_t v = 0; v < p.ops.size(); v++)
                at.push_back(found.at("v" + std::to_string(v)));
            const bool is_wrong = naive::run(p, at).is_wrong;
            BOOST_CHECK_MESSAGE(contains(run.out, "wrong  ") == is_wrong, p.text());
            BOOST_CHECK_MESSAGE(literal || !is_wrong, p.text());
        }
    }
}

BOOST_AUTO_TEST_CASE(bad_programs_are_rejected_with_their_place) {
    const std::string head = "id,operands,size,view,from,io\na,,10,,,input\nb,a,6,,,\n";
    const std::map<std::string, std::string> bad{
        {"id,operands,size,colour\n", "p.csv:1:18: found 'colour', expected a column of a program: id, operands"},
        {"id,operands,size,id\n", "p.csv:1:18: found 'id', expected each column once"},
        {"id,operands\n", "p.csv:1:1: found 'id,operands', expected a header line with id, operands and size"},
        {head + "a,,1,,,\n", "p.csv:4:1: found 'a', expected another id than in line 2"},
        {head + ",,1,,,\n", "p.csv:4:1: found '', expected an id"},
        {head + "c d,,1,,,\n", "p.csv:4:1: found 'c d', expected an id without spaces"},
        {head + "c,a,0,,,\n", "p.csv:4:5: found '0', expected a number of bytes, 1 .. 2^62"},
        {head + "c,a,4611686018427387905,,,\n", "expected a number of bytes, 1 .. 2^62"},
        {head + "c,a  z,1,,,\n", "p.csv:4:6: found 'z', expected an id of a line above"},
        {head + "c,c,1,,,\n", "p.csv:4:3: found 'c', expected an id of a line above"},
        {head + "c,a,1,split,,\n", "p.csv:4:7: found 'split', expected concat, slice, reshape, or nothing"},
        {head + "c,a,1,,,both\n", "p.csv:4:9: found 'both', expected input, output, or nothing"},
        {head + "c,a,1,,,input\n", "p.csv:4:3: found 'a', expected no operands, because this is an input"},
        {head + "c,a,1,slice,,input\n", "p.csv:4:7: found 'slice', expected no view, because this is an input"},
        {head + "c,a,10,reshape,0,\n", "p.csv:4:16: found '0', expected nothing, because this is no slice"},
        {head + "c,a,1,slice,x,\n", "p.csv:4:13: found 'x', expected the first byte of the slice in its operand"},
        {head + "c,a,4,slice,7,\n", "p.csv:4:5: found '4', expected a slice inside its operand"},
        {head + "c,a,9,reshape,,\n", "p.csv:4:5: found '9', expected the size of the operand"},
        {head + "c,a b,10,reshape,,\n", "p.csv:4:3: found 'a b', expected one operand of the view"},
        {head + "c,,10,slice,,\n", "p.csv:4:3: found '', expected one operand of the view"},
        {head + "c,b,6,concat,,\n", "p.csv:4:3: found 'b', expected at least two operands of the concat"},
        {head + "c,a b,17,concat,,\n", "p.csv:4:7: found '17', expected the sum of the operands' sizes"},
        {head + "c,b b,12,concat,,\n", "p.csv:4:3: found 'b b', expected operands that are no slices or concats"},
        {head + "c,a,1,slice,,\nd,b c,7,concat,,\n", "p.csv:5:3: found 'b c', expected operands that are no slices"},
        {head + "c,a b,16,concat,,\nd,b a,16,concat,,\n", "p.csv:5:3: found 'b a', expected operands that are no"},
        {head + "c,a\n", "p.csv:4:4: "},
    };
    for (const auto &[text, message] : bad) {
        scratch_directory scratch;
        const std::string table = scratch.write("p.csv", text);
        const command_result run = run_tlmalloc({"plan", table, "--capacity", "10", "-o", scratch.path("out.csv")});
        BOOST_CHECK_EQUAL(run.status, 2);
        BOOST_CHECK_MESSAGE(contains(run.err, message), "found " << run.err << ", expected " << message);
        BOOST_CHECK_EQUAL(scratch.file_count(), 1u);
    }
}

BOOST_AUTO_TEST_CASE(programs_that_a_mode_cannot_place_are_rejected) {
    scratch_directory scratch;
    const std::string buffers = scratch.write("b.csv", "id,lower,upper,size\na,0,1,1\n"),
                      program = scratch.write("p.csv", joined),
                      view = scratch.write("v.csv", "id,operands,size,view,io\nx,,8,,input\na,x,8,,\n"
                                                    "k,a,8,reshape,output\n"),
                      large = scratch.write("l.csv", "id,operands,size,io\nx,,68719476736,input\na,x,1,\n"),
                      below = scratch.write("s.csv", "id,operands,size,io\nx,,16,input\na,x,8,\n"),
                      huge = scratch.write("h.csv", "id,operands,size\nx,,4611686018427387904\na,x,1\n");
    const std::vector<std::pair<std::vector<std::string>, std::string>> bad{
        {{buffers, "--literal"}, "b.csv: --address-mode, --literal and --align need a program"},
        {{buffers, "--align", "8"}, "need a program, a table with the column operands"},
        {{buffers, "--address-mode", "io_tag"}, "need a program"},
        {{program, "--address-mode", "io_tags"}, "--address-mode: found 'io_tags', expected one of: basic, io_tag, "},
        {{program, "--io-start", "4096"}, "--io-start needs --address-mode io_alone: only it moves inputs and outputs"},
        {{program, "--address-mode", "io_alone", "--io-start", "4611686018427387905"}, "--io-start: expected at most"},
        {{below, "--address-mode", "io_alone", "--io-start", "4"},
         "s.csv:3: --address-mode io_alone has no place for 'a': a (line 3) overwrites 4 bytes of x (line 2) at 4"},
        {{program, "--align", "3"}, "--align: found '3'"},
        {{program, "--device", "0"}, "--device needs a recording of PyTorch"},
        {{view, "--address-mode", "io_tag"},
         "v.csv:4: --address-mode io_tag has no place for 'k': k (line 4) does not have the bytes of its operand a"},
        {{view, "--address-mode", "io_tag_fuse"},
         "v.csv:4: --address-mode io_tag_fuse has no place for 'k': its bytes are those of another value"},
        {{large, "--address-mode", "io_tag"}, "l.csv:3: the values up to 'a' have more than 64 GiB together"},
        {{huge}, "h.csv: the sizes, rounded up to --align, are more than 2^62 bytes together"},
    };
    for (const auto &[arguments, message] : bad) {
        std::vector<std::string> words{"plan", "--method", "size_order"};
        words.insert(words.end(), arguments.begin(), arguments.end());
        const command_result run = run_tlmalloc(words);
        BOOST_CHECK_EQUAL(run.status, 2);
        BOOST_CHECK_MESSAGE(contains(run.err, message), "found " << run.err << ", expected " << message);
    }
}

BOOST_AUTO_TEST_CASE(an_empty_program_has_an_empty_plan) {
    scratch_directory scratch;
    const std::string table = scratch.write("p.csv", "id,operands,size\n"), out = scratch.path("out.csv");
    BOOST_CHECK_EQUAL(run_tlmalloc({"plan", table, "--minimize", "--address-mode", "io_alone", "-o", out}).status, 0);
    BOOST_CHECK_EQUAL(read_text(out), "id,operands,size,offset\n");
}
