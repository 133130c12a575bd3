// The other formats of traces: memory snapshots of PyTorch, which are pickles, and MiniMalloc's buffers.
#include "platform/command_line.hpp"
#include "shared_data.hpp"
#include "tests/torch/old_pickle.hpp"
#include "torch/pickle.h"
#include "torch/torch.h"
#include "trace/trace.h"

#include <map>
#include <random>

using naive_torch::old_pickle;

namespace {

const std::string data = TLMALLOC_SOURCE_DIR "/tests/data/";

// Placements of a trace by first fit in 1 GiB.
std::string placements_of(const std::string &trace) {
    scratch_directory scratch;
    std::string placements = scratch.path("p.csv");
    command_result run = run_tlmalloc({"replay", trace, "--capacity", "1 GiB", "--placements", placements});
    BOOST_REQUIRE_MESSAGE(run.status == 0, run.err);
    return read_text(placements);
}

// Reads text in this process; what went wrong, or "" when nothing did.
std::string failure_of(const std::string &text) {
    alloc_trace trace;
    tla_error error{};
    trace_read_recordings_by(torch_read_trace);
    tla_status status = trace_parse(text.data(), text.size(), "t", &trace, &error);
    if (status) {
        BOOST_CHECK_EQUAL(status, error.status);
        BOOST_CHECK(!trace.events && !trace.allocations && !trace.id_texts);
    }
    trace_unload(&trace);
    return status ? error.text : "";
}

std::string bytes(std::initializer_list<int> values) {
    std::string text;
    for (int value : values)
        text += static_cast<char>(value);
    return text;
}

const std::string protocol_4 = bytes({0x80, 4});

// A pickle of {'device_traces': [[ENTRIES]]}, by hand.
std::string snapshot_of(const std::string &entries) {
    return protocol_4 +
           "}\x8c\x0d"
           "device_traces]](" +
           entries + "eas.";
}

std::string entry(const std::string &action, int addr, int size) {
    return "}(\x8c\x06"
           "action\x8c" +
           std::string(1, static_cast<char>(action.size())) + action +
           "\x8c\x04"
           "addrK" +
           std::string(1, static_cast<char>(addr)) +
           "\x8c\x04"
           "sizeK" +
           std::string(1, static_cast<char>(size)) + "u";
}

} // namespace

// Written by CPython's pickle with the keys of torch/csrc/cuda/memory_snapshot.cpp. Device 1 recorded: a block older
// than the trace (4096 bytes), a free that completes later than it was requested, a clock that steps back, an entry of
// running out of memory.
BOOST_AUTO_TEST_CASE(a_snapshot_of_pytorch_is_read_in_every_protocol) {
    for (std::string protocol : {"2", "4", "5"})
        BOOST_CHECK_EQUAL(placements_of(data + "torch_snapshot_protocol" + protocol + ".pickle"),
                          "id,offset,bytes,nodes_visited\n"
                          "139637976735744,0,4096,1\n"
                          "139637976727552,4096,512,1\n"
                          "139637976728064,4608,1000,1\n"
                          "139637976729600,0,300,1\n"
                          "139637976731648,300,2000,1\n"
                          "139637976728064,2300,1024,1\n"
                          "139637976727552,3324,512,1\n");
}

BOOST_AUTO_TEST_CASE(pickles_of_protocols_0_and_1_are_read_as_json_is) {
    scratch_directory scratch;
    for (const naive_torch::u64 seed : {1u, 2u, 3u}) {
        naive_torch::allocator a;
        naive_torch::run(a, naive_torch::workload{300}, seed);
        naive_torch::value snapshot = naive_torch::snapshot_of({&a});
        snapshot["other"] =
            naive_torch::value::list{true, -1, -70000, 1.5, -2e300, std::string(300, 'x'), "it's \\ \n"};
        const std::string expected = placements_of(scratch.write("t.json", naive_torch::to_json(snapshot)));
        for (const int protocol : {0, 1})
            for (const bool python2 : {false, true})
                BOOST_CHECK_EQUAL(placements_of(scratch.write("t", old_pickle::of(snapshot, protocol, python2))),
                                  expected);
    }
}

// Names of functions show how texts were read. They are those that CPython's pickle wrote for the same text.
BOOST_AUTO_TEST_CASE(texts_of_old_pickles_are_unescaped_as_python_does) {
    const std::map<std::string, std::string> texts{
        {"Vplain\n", "plain"},
        {"V\\u005cn\\u000a\xe9\\u20ac\\U0001f600\n", "\\n\n\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
        {"V\\\\u0041\\x\n", "\\\\u0041\\x"}, // two backslashes begin no escape
        {"V\\ud83d\\ude00\\ud800x\\udc00\n", "\xf0\x9f\x98\x80\xef\xbf\xbdx\xef\xbf\xbd"},
        {"S'it\\'s \\\\ \\x41\\101\\n\\0\\q'\n", std::string("it's \\ AA\n\0\\q", 13)},
        {"S\"a'b\\\"\"\n", "a'b\""},
        {"S''\n", ""},
        {bytes({'U', 3}) + "abc", "abc"},
        {bytes({'T', 3, 0, 0, 0}) + "a\\n", "a\\n"},
    };
    for (const auto &[written, expected] : texts) {
        pickle_data *pickle = nullptr;
        tla_error error{};
        const std::string text = written + ".";
        BOOST_REQUIRE_MESSAGE(pickle_read(text.data(), text.size(), "t", &pickle, &error) == TLA_OK, error.text);
        const data_value *root = pickle_root(pickle);
        BOOST_CHECK_EQUAL(root->kind, DATA_TEXT);
        BOOST_CHECK_EQUAL(std::string(root->text, root->count), expected);
        pickle_destroy(pickle);
    }
}

BOOST_AUTO_TEST_CASE(a_pickle_that_names_a_global_is_rejected_with_the_name) {
    scratch_directory scratch;
    struct refused {
        std::string pickle, message;
    };
    const refused pickles[] = {
        {bytes({0x80, 2}) + "cposix\nsystem\n)R.", "byte 2 of the pickle: found opcode GLOBAL 'posix "
                                                   "system', expected plain data only"},
        {protocol_4 + "\x8c\x05posix\x8c\x06system\x93)R.",
         "found opcode STACK_GLOBAL 'posix system', expected plain data"},
        {protocol_4 + "}\x8c\x01"
                      "ac",
         "found opcode GLOBAL, expected plain data only"},
    };
    for (const refused &r : pickles) {
        command_result run = run_tlmalloc({"replay", scratch.write("t.pickle", r.pickle), "--capacity", "1 KiB"});
        BOOST_CHECK_EQUAL(run.status, 2);
        BOOST_CHECK_MESSAGE(contains(run.err, r.message), run.err);
    }
}

BOOST_AUTO_TEST_CASE(every_opcode_that_plain_data_does_not_need_is_rejected_by_name) {
    const std::map<int, std::string> refused{
        {'B', "BINBYTES"},     {'C', "SHORT_BINBYTES"},  {'P', "PERSID"},        {'Q', "BINPERSID"},
        {'R', "REDUCE"},       {'b', "BUILD"},           {'c', "GLOBAL"},        {'i', "INST"},
        {'o', "OBJ"},          {0x81, "NEWOBJ"},         {0x82, "EXT1"},         {0x83, "EXT2"},
        {0x84, "EXT4"},        {0x8e, "BINBYTES8"},      {0x8f, "EMPTY_SET"},    {0x90, "ADDITEMS"},
        {0x91, "FROZENSET"},   {0x92, "NEWOBJ_EX"},      {0x93, "STACK_GLOBAL"}, {0x96, "BYTEARRAY8"},
        {0x97, "NEXT_BUFFER"}, {0x98, "READONLY_BUFFER"}};
    const std::string handled = "(.012NIJKMLFGSTUVX]ael}sud)tqrphjg\x80\x85\x86\x87\x88\x89\x8a\x8b\x8c\x8d\x94\x95";
    for (int opcode = 0; opcode < 256; opcode++) {
        std::string failure = failure_of(protocol_4 + "]" + bytes({opcode}) + std::string(16, '\0'));
        if (auto found = refused.find(opcode); found != refused.end())
            BOOST_CHECK_MESSAGE(contains(failure, "byte 3 of the pickle: found opcode " + found->second + ", expected"),
                                failure);
        else if (!contains(handled, std::string(1, static_cast<char>(opcode))) || opcode == 0x80)
            BOOST_CHECK_MESSAGE(
                contains(failure, "byte 3 of the pickle: found 0x") && contains(failure, "an unknown opcode"), failure);
        else
            BOOST_CHECK_MESSAGE(!failure.empty() && !contains(failure, "byte 3 of the pickle: found 0x"),
                                opcode << ": " << failure);
    }
}

BOOST_AUTO_TEST_CASE(an_invalid_snapshot_is_rejected_with_the_place_of_its_error) {
    const std::string good = entry("alloc", 1, 64);
    BOOST_CHECK_EQUAL(failure_of(snapshot_of(good)), "");
    BOOST_CHECK_EQUAL(failure_of(snapshot_of(entry("free_completed", 1, 64) + good)),
                      ""); // a block older than the trace
    const std::map<std::string, std::string> bad{
        {snapshot_of(""), "no device has a trace with an allocation or a free"},
        {snapshot_of(good + good), "id 1 is already live: allocated in byte 21"},
        {snapshot_of(good + entry("free_completed", 1, 63)), "found 63, expected the 64 bytes allocated in byte 21"},
        {snapshot_of(good + entry("free_completed", 1, 64) + entry("free_completed", 1, 64)), "double free of id 1"},
        {snapshot_of(entry("alloc", 1, 0)), "size: found 0, expected 1 .. 2^63 bytes"},
        {snapshot_of(entry("grab", 1, 64)),
         "no device has a trace with an allocation or a free"}, // of an unknown action only
        {snapshot_of("}"), "byte 21 of the pickle: found a dictionary without 'action'"},
        {snapshot_of("]"), "byte 21 of the pickle: found a list without 'action'"},
        {snapshot_of("}\x8c\x06"
                     "actionK\x01s"),
         "action: found 1, expected a text"},
        {snapshot_of("}\x8c\x06"
                     "action\x8c\x05"
                     "allocs"),
         "found a dictionary without 'addr'"},
        {protocol_4 + "].", "found a list of segments (torch.cuda.memory_snapshot()), but no events"},
        {protocol_4 + "}\x8c\x0d"
                      "device_tracesNs.",
         "device_traces: found None, expected a list"},
        {protocol_4 + "}\x8c\x0d"
                      "device_traces]Nas.",
         "trace of a device: found None, expected a list"},
        {protocol_4 + "(t.",
         "found a list of segments (torch.cuda.memory_snapshot()), but no events"}, // an empty tuple, made from a mark
        {protocol_4 + ".", "found the end of the pickle, expected one value on the stack"},
        {protocol_4 + "N.N", "found bytes after the end of the pickle"},
        {protocol_4 + "a", "found an instruction that needs more values than the stack has"},
        {protocol_4 + "NNa", "found items for a list, but no list below them"},
        {protocol_4 + "e", "found an instruction that needs a mark"},
        {protocol_4 + "](NN(ea", "found items for a list"},
        {protocol_4 + "}(Nu", "found a key without a value"},
        {protocol_4 + "h\x07", "found an undefined memo number"},
        {protocol_4 + "Nr\xff\xff\xff\x7f", "found a memo number larger than the file"},
        {protocol_4 + "\x8a\x09"
                      "11111111\x01",
         "found a whole number of more than 64 bits"},
        {protocol_4 + "\x8c\xff"
                      "abc",
         "found the end of the file, expected the rest of an instruction: truncated"},
        {protocol_4 + "\x8d\xff\xff\xff\xff\xff\xff\xff\xff", "truncated"},
        {bytes({0x80, 6}) + "N.",
         "byte 0 of the pickle: found an unknown protocol, expected a pickle of protocol 0 to 5"},
        {protocol_4 + "(Nd", "found a key without a value"},
        {protocol_4 + "d", "found an instruction that needs a mark"},
        {protocol_4 + "0", "found an instruction that needs more values than the stack has"},
        {protocol_4 + "2", "found an instruction that needs more values than the stack has"},
        {protocol_4 + "N(2", "found an instruction that needs more values than the stack has"},
        {"(I12x\n", "byte 1 of the pickle: found '12x', expected a whole number of at most 64 bits"},
        {"(I18446744073709551616\n", "expected a whole number of at most 64 bits"},
        {"(L-9223372036854775809L\n", "expected a whole number of at most 64 bits"},
        {"(L\n", "found '', expected a whole number"},
        {"(I--1\n", "found '--1', expected a whole number"},
        {"(F1.5.2\n", "found '1.5.2', expected a real number"},
        {"(F0x1p3\n", "found '0x1p3', expected a real number"},
        {"(F\n", "found '', expected a real number"},
        {"(Sabc\n", "found 'abc', expected a text in quotes"},
        {"(S'abc\"\n", "expected a text in quotes"},
        {"(S'\n", "expected a text in quotes"},
        {"(V\\u12\n", "expected a text whose \\u and \\U have"},
        {"(V\\U00110000\n", "expected a text whose \\u and \\U have"},
        {"(I12", "byte 1 of the pickle: found the end of the file, expected the rest of a line: truncated"},
        {"(lg7\n", "found an undefined memo number"},
        {"(lp-1\n", "byte 2 of the pickle: found '-1', expected a memo number"},
        {"(lp99999999999999999999\n", "expected a memo number"},
        {"(lp999999999\n", "found a memo number larger than the file"},
        {"(dS'device_traces'\n(l(l(dS'action'\nFnan\nsaas.", "action: found NaN, expected a text"},
        {"(dS'device_traces'\n(l(l(dS'action'\nS'alloc'\nsS'addr'\nI1\nsS'size'\nF-inf\nsaas.",
         "byte 65 of the pickle: size: found -Infinity, expected a whole number"},
    };
    for (const auto &[pickle, message] : bad) {
        std::string failure = failure_of(pickle);
        BOOST_CHECK_MESSAGE(contains(failure, message), "found " << failure << ", expected " << message);
    }
}

BOOST_AUTO_TEST_CASE(a_truncated_snapshot_is_rejected_at_every_length) {
    naive_torch::allocator a;
    naive_torch::run(a, naive_torch::workload{8}, 5);
    const naive_torch::value snapshot = naive_torch::snapshot_of({&a});
    for (const std::string &whole :
         {read_text(data + "torch_snapshot_protocol2.pickle"), read_text(data + "torch_snapshot_protocol4.pickle"),
          old_pickle::of(snapshot, 0), old_pickle::of(snapshot, 0, true), old_pickle::of(snapshot, 1)}) {
        for (std::size_t length = 0; length < whole.size(); length++)
            BOOST_CHECK_MESSAGE(!failure_of(whole.substr(0, length)).empty(), "accepted when cut after " << length);
    }
}

// Under the sanitizers this is the test of the pickle machine: no damage may make it read or write where it must not.
BOOST_AUTO_TEST_CASE(damaged_traces_are_read_or_rejected_and_cause_no_other_error) {
    const std::uint64_t seed = 20240611;
    BOOST_TEST_INFO("seed " << seed);
    std::mt19937_64 random(seed);
    naive_torch::allocator a;
    naive_torch::run(a, naive_torch::workload{8}, 5);
    const naive_torch::value snapshot = naive_torch::snapshot_of({&a});
    const std::string wholes[] = {read_text(data + "torch_snapshot_protocol2.pickle"),
                                  read_text(data + "torch_snapshot_protocol4.pickle"),
                                  old_pickle::of(snapshot, 0),
                                  old_pickle::of(snapshot, 0, true),
                                  old_pickle::of(snapshot, 1, true),
                                  "time_ns,op,id,bytes\n1,alloc,1,64\n2,alloc,2,64\n3,free,1,64\n",
                                  "id,lower,upper,size\nb1,0,3,4\nb2,3,9,4\n"};
    const std::string dictionary =
        "(.012NIJKMLFGSTUVX]aeld}su)tqrphjg\x80\x85\x86\x87\x8a\x8b\x8c\x8d\x94\x95,-\\'\n\xff";
    int refused = 0;
    for (int round = 0; round < 12000; round++) {
        std::string text = wholes[random() % std::size(wholes)];
        for (std::uint64_t edits = 1 + random() % 4; edits > 0; edits--) {
            std::size_t at = random() % text.size();
            char byte = random() % 2 ? dictionary[random() % dictionary.size()] : static_cast<char>(random());
            switch (random() % 3) {
            case 0:
                text[at] = byte;
                break;
            case 1:
                text.insert(at, 1, byte);
                break;
            default:
                text.erase(at, 1 + random() % 8);
                break;
            }
            if (text.empty()) text = "x";
        }
        refused += !failure_of(text).empty();
    }
    BOOST_CHECK_GT(refused, 6000);
}

// The example of MiniMalloc's own documentation; frees come before allocations at equal times (3 and 9).
BOOST_AUTO_TEST_CASE(buffers_of_minimalloc_become_events) {
    scratch_directory scratch;
    std::string trace =
        scratch.write("t.csv", "id,lower,upper,size\nb1,0,3,4\nb2,3,9,4\nb3,0,9,4\nb4,9,21,4\nb5,0,21,4\n");
    BOOST_CHECK_EQUAL(placements_of(trace), "id,offset,bytes,nodes_visited\n"
                                            "b1,0,4,1\nb3,4,4,1\nb5,8,4,1\nb2,0,4,1\nb4,0,4,1\n");
}

// Heights of online first fit (half-open, frees first, alignment 1).
BOOST_AUTO_TEST_CASE(first_fit_reaches_the_known_heights_of_minimallocs_problems) {
    if (!shared_data_is_here("data/minimalloc")) return;
    const std::string directory = shared_data + "data/minimalloc/";
    const std::map<std::string, std::uint64_t> heights{{"A", 1608704}, {"B", 1775616}, {"C", 1769472}, {"D", 1547264},
                                                       {"E", 1981440}, {"F", 1277952}, {"G", 1343488}, {"H", 1299456},
                                                       {"I", 1629184}, {"J", 1587200}, {"K", 2102272}};
    for (const auto &[name, height] : heights) {
        std::string trace = directory + name + ".1048576.csv";
        std::istringstream lines(placements_of(trace));
        std::string line, id, offset, nbytes;
        std::uint64_t reached = 0;
        std::getline(lines, line);
        while (std::getline(std::getline(std::getline(lines, id, ','), offset, ','), nbytes, ',') &&
               std::getline(lines, line))
            reached = std::max<std::uint64_t>(reached, std::stoull(offset) + std::stoull(nbytes));
        BOOST_CHECK_MESSAGE(reached == height, name << ": found " << reached << ", expected " << height);
    }
}

BOOST_AUTO_TEST_CASE(bad_buffers_of_minimalloc_are_rejected_with_their_place) {
    const std::string head = "id,lower,upper,size\n";
    BOOST_CHECK_EQUAL(failure_of(head), ""); // no buffer is no mistake
    BOOST_CHECK_EQUAL(failure_of(head + std::string(255, 'b') + ",0,3,4\n"), "");
    const std::map<std::string, std::string> bad{
        {head + ",0,3,4\n", "t:2:1: found '', expected an id"},
        {head + "b1,-1,3,4\n", "t:2:4: found '-1', expected a time"},
        {head + "b1,3,3,4\n", "t:2:6: found '3', expected a time later than lower"},
        {head + "b1,3,18446744073709551616,4\n",
         "t:2:6: found '18446744073709551616', expected a time later than lower, at most 2^64 - 1"},
        {head + "b1,0,3,0\n", "t:2:8: found '0', expected a number of bytes"},
        {head + "b1,0,3\n", "t:2:7: found 3 columns, expected 4: id,lower,upper,size"},
        {head + "b1,0,3,4\n\nb2,0,3,4\n", "t:3:1: found 1 column, expected 4: id,lower,upper,size"},
        {head + std::string(256, 'b') + ",0,3,4\n", "expected an id of at most 255 bytes"},
        {"id,lower,upper,sizes\n", "t:1:16: found 'sizes', expected a column: id, lower"},
    };
    for (const auto &[text, message] : bad) {
        std::string failure = failure_of(text);
        BOOST_CHECK_MESSAGE(contains(failure, message), "found " << failure << ", expected " << message);
    }
}

BOOST_AUTO_TEST_CASE(a_build_without_torch_rejects_recordings_and_names_the_missing_option) {
    for (const std::string name : {"torch_snapshot_protocol2.pickle", "torch_snapshot_protocol5.pickle"}) {
        const std::string text = read_text(data + name);
        alloc_trace trace;
        tla_error error{};
        BOOST_CHECK_EQUAL(trace_parse(text.data(), text.size(), "t", &trace, &error), TLA_UNSUPPORTED);
        BOOST_CHECK_EQUAL(error.text, "t: found a pickle or JSON, the formats of PyTorch's recordings: this build has "
                                      "no PyTorch reader; configure with -DTLMALLOC_TORCH=ON");
    }
    const std::string events = "time_ns,op,id,bytes\n0,alloc,1,64\n";
    alloc_trace trace;
    tla_error error{};
    BOOST_REQUIRE_EQUAL(trace_parse(events.data(), events.size(), "t", &trace, &error), TLA_OK);
    trace_unload(&trace);
}
