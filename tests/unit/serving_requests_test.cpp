// Requests of a serving system: every form is read as it stands, and what is none is refused with its place.
#include "scratch_directory.hpp"
#include "serving/requests.h"
#include "shared_data.hpp"

#include <boost/test/unit_test.hpp>

#include <random>
#include <string>
#include <vector>

namespace {

struct parsed {
    tla_serving_requests requests{};
    tla_error error{};
    tla_status status;
    explicit parsed(const std::string &text, bool skipping = false)
        : status((skipping ? tla_serving_requests_parse_skipping
                           : tla_serving_requests_parse)(text.data(), text.size(), "file", &requests, &error)) {
        if (status) BOOST_CHECK(!requests.items && !requests.block_store && !requests.count);
    }
    parsed(const parsed &) = delete;
    parsed &operator=(const parsed &) = delete;
    ~parsed() { tla_serving_requests_free(&requests); }
};

const std::string measured = R"({"id":0,"arrival_s":0.0,"input":40,"output":9,"blocks":[7,8,9]})"
                             "\n"
                             R"({"id":1,"arrival_s":0.265091,"input":1,"output":2,"blocks":[]})"
                             "\n";
const std::string conversation = R"({"timestamp": 1000, "input_length": 700, "output_length": 5, "hash_ids": [46, 47]})"
                                 "\n"
                                 R"({"timestamp": 1030, "input_length": 512, "output_length": 1, "hash_ids": [46]})"
                                 "\n";
const std::string azure = "TIMESTAMP,ContextTokens,GeneratedTokens\n"
                          "2023-12-31 23:59:59.6805900,374,44\n"
                          "2024-01-01 00:00:00.9951690,396,109\n";

const std::string burst = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
                          "5,ChatGPT,472,18,490,Conversation log\n"
                          "45.25,GPT-4,1087,230,1317,API log\n";
const std::string burst_3 =
    "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
    "19440110.0,1722ac82-0a46-4bf0,43,GPT-4,906,446,1352,Conversation log\n"
    "19440161.0,,2.5,ChatGPT,36,29,65,API log\n";

std::string refusal(const std::string &text, bool skipping = false) {
    const parsed p(text, skipping);
    BOOST_CHECK_NE(p.status, TLA_OK);
    return p.error.text;
}

// A text with a part of it replaced.
std::string with(std::string text, const std::string &from, const std::string &to) {
    const std::size_t at = text.find(from);
    BOOST_REQUIRE_NE(at, std::string::npos);
    return text.replace(at, from.size(), to);
}

} // namespace

BOOST_AUTO_TEST_CASE(a_measured_run_has_ids_times_and_full_blocks) {
    const parsed p(measured);
    BOOST_REQUIRE_MESSAGE(!p.status, p.error.text);
    BOOST_REQUIRE_EQUAL(p.requests.count, 2u);
    BOOST_CHECK_EQUAL(p.requests.block_tokens, 16u);
    BOOST_CHECK(!p.requests.blocks_of_prompt);
    const tla_serving_request &first = p.requests.items[0], &second = p.requests.items[1];
    BOOST_CHECK_EQUAL(first.prompt_tokens, 40u);
    BOOST_CHECK_EQUAL(first.output_tokens, 9u);
    BOOST_CHECK_EQUAL(first.block_count, 3u);
    BOOST_CHECK_EQUAL(first.blocks[2], 9u);
    BOOST_CHECK_EQUAL(second.arrival_ns, 265091000u);
    BOOST_CHECK_EQUAL(second.block_count, 0u);
    BOOST_CHECK(!second.blocks);
}

BOOST_AUTO_TEST_CASE(the_tokens_of_a_block_are_what_all_lines_agree_about) {
    const std::string line = R"({"id":0,"arrival_s":0,"input":100,"output":60,"blocks":[1,2,3,4,5]})";
    const parsed p(line);
    BOOST_REQUIRE_MESSAGE(!p.status, p.error.text);
    BOOST_CHECK_EQUAL(p.requests.block_tokens, 32u);
    BOOST_CHECK_EQUAL(refusal(line + "\n" + R"({"id":1,"arrival_s":0,"input":31,"output":2,"blocks":[1,2]})"),
                      "file:2:54: found 2 numbers for 33 tokens, expected one for each full block, as in other lines");
}

// Whatever the engine's blocks are then, nothing has to be told apart.
BOOST_AUTO_TEST_CASE(lines_without_a_block_have_no_block_size) {
    const parsed p(R"({"id":0,"arrival_s":0,"input":100,"output":60,"blocks":[]})");
    BOOST_REQUIRE_MESSAGE(!p.status, p.error.text);
    BOOST_CHECK_EQUAL(p.requests.block_tokens, 0u);
}

// A double has not enough digits for them.
BOOST_AUTO_TEST_CASE(whole_times_since_1970_are_exact_to_the_nanosecond) {
    const std::string rest = R"(, "input_length": 1, "output_length": 1, "hash_ids": [1]})";
    const parsed p(R"({"timestamp": 1700000000000)" + rest + "\n" + R"({"timestamp": 1700000000001)" + rest);
    BOOST_REQUIRE_MESSAGE(!p.status, p.error.text);
    BOOST_CHECK_EQUAL(p.requests.items[1].arrival_ns, 1000000u);
    BOOST_CHECK_EQUAL(refusal(R"({"timestamp": 9223372036855)" + rest),
                      "file:1:15: found '9223372036855', expected a time from 0 on, less than 292 years");
    BOOST_CHECK_EQUAL(refusal(R"({"timestamp": 18446744073709551615)" + rest),
                      "file:1:15: found '18446744073709551615', expected a time from 0 on, less than 292 years");
}

BOOST_AUTO_TEST_CASE(ids_of_a_measured_run_are_kept_and_differ) {
    const parsed p(with(with(measured, "\"id\":0", "\"id\":40"), "\"id\":1", "\"id\":7"));
    BOOST_REQUIRE_MESSAGE(!p.status, p.error.text);
    BOOST_CHECK_EQUAL(p.requests.items[0].id, 40u);
    BOOST_CHECK_EQUAL(p.requests.items[1].id, 7u);
    BOOST_CHECK_EQUAL(refusal(with(measured, "\"id\":1", "\"id\":0")),
                      "file:2:1: found id 0 again, already used in line 1");
}

BOOST_AUTO_TEST_CASE(mooncakes_times_begin_at_the_first_and_its_last_block_is_partial) {
    const parsed p(conversation);
    BOOST_REQUIRE_MESSAGE(!p.status, p.error.text);
    BOOST_CHECK_EQUAL(p.requests.block_tokens, 512u);
    BOOST_CHECK(p.requests.blocks_of_prompt);
    BOOST_CHECK_EQUAL(p.requests.items[0].arrival_ns, 0u);
    BOOST_CHECK_EQUAL(p.requests.items[1].arrival_ns, 30000000u);
    BOOST_CHECK_EQUAL(p.requests.items[1].id, 1u);
    BOOST_CHECK_EQUAL(p.requests.items[0].blocks[1], 47u);
    BOOST_CHECK_EQUAL(p.requests.items[1].blocks[0], 46u);
}

BOOST_AUTO_TEST_CASE(azures_times_are_dates_and_it_knows_no_blocks) {
    for (const std::string &text :
         {azure, with(with(azure, "5900,", "5900+00:00,"), "1690,", "1690+00:00,"), azure + "\n\n"}) {
        const parsed p(text);
        BOOST_REQUIRE_MESSAGE(!p.status, p.error.text);
        BOOST_CHECK_EQUAL(p.requests.block_tokens, 0u);
        BOOST_CHECK_EQUAL(p.requests.items[1].arrival_ns, 1314579000u);
        BOOST_CHECK_EQUAL(p.requests.items[1].output_tokens, 109u);
    }
}

BOOST_AUTO_TEST_CASE(burstgpts_columns_are_found_by_name_and_times_are_seconds) {
    std::string quoted = burst;
    for (const char *name : {"Timestamp", "Request tokens", "5", "472", "230", "API log"})
        quoted = with(quoted, name, "\"" + std::string(name) + "\"");
    for (const std::string &text :
         {burst, quoted, with(burst, "\n5,", "\n05.0,"), with(burst, "45.25", "45.2500000000")}) {
        const parsed p(text);
        BOOST_REQUIRE_MESSAGE(!p.status, p.error.text);
        BOOST_REQUIRE_EQUAL(p.requests.count, 2u);
        BOOST_CHECK_EQUAL(p.requests.block_tokens, 0u);
        BOOST_CHECK_EQUAL(p.requests.items[1].arrival_ns, 40250000000u);
        BOOST_CHECK_EQUAL(p.requests.items[0].prompt_tokens, 472u);
        BOOST_CHECK_EQUAL(p.requests.items[1].output_tokens, 230u);
        BOOST_CHECK_EQUAL(p.requests.items[1].line, 3u);
    }
    const parsed newer(burst_3), turned("Response tokens,Timestamp,x,Request tokens\r\n7,0.9999999995,,8\r\n");
    BOOST_REQUIRE_MESSAGE(!newer.status, newer.error.text);
    BOOST_CHECK_EQUAL(newer.requests.items[1].arrival_ns, 51000000000u);
    BOOST_CHECK_EQUAL(newer.requests.items[1].prompt_tokens, 36u);
    BOOST_REQUIRE_MESSAGE(!turned.status, turned.error.text);
    BOOST_CHECK_EQUAL(turned.requests.items[0].output_tokens, 7u);
    BOOST_CHECK_EQUAL(turned.requests.items[0].prompt_tokens, 8u);
}

BOOST_AUTO_TEST_CASE(invalid_tables_of_burstgpt_are_rejected_with_their_place) {
    const std::string needed = ", expected Timestamp, Request tokens and Response tokens";
    const std::vector<std::pair<std::string, std::string>> cases = {
        {with(burst, "Timestamp", "Time"), "file:1:1: the column Timestamp is missing" + needed},
        {with(burst, "Request tokens", "Prompt"), "file:1:1: the column Request tokens is missing" + needed},
        {with(burst, "Response tokens", "Answer"), "file:1:1: the column Response tokens is missing" + needed},
        {with(burst, "Model", "Timestamp"), "file:1:11: found 'Timestamp', expected each column once"},
        {with(burst, "45.25", "4.5"), "file:3:1: found '4.5', expected a time not before the previous line's"},
        {with(burst, "45.25", "-1"), "file:3:1: found '-1', expected seconds from 0 on, less than 292 years, such as "
                                     "45 or 45.5"},
        {with(burst, "45.25", "45."), "file:3:1: found '45.', expected seconds from 0 on, less than 292 years, such as "
                                      "45 or 45.5"},
        {with(burst, "45.25", "4e1"), "file:3:1: found '4e1', expected seconds from 0 on, less than 292 years, such as "
                                      "45 or 45.5"},
        {with(burst, "45.25", "9223372037"), "file:3:1: found '9223372037', expected seconds from 0 on, less than 292 "
                                             "years, such as 45 or 45.5"},
        {with(burst, "1087", "1087.0"), "file:3:13: found '1087.0', expected the prompt's tokens, 1 .. 2^31 - 1"},
        {with(burst, "230", ""), "file:3:18: found '', expected the output's tokens, 1 .. 2^31 - 1"},
        {with(burst, ",API log", ""), "file:3:26: found 5 columns, expected 6: Timestamp,Model,Request tokens,Response "
                                      "tokens,Total tokens,Log Type"},
        {burst.substr(0, burst.find('\n') + 1), "file:1:1: found no request, expected at least one"},
        {"Prompt,Answer\n1,2\n",
         "file:1:1: found 'Prompt,Answer', expected a JSON object (the measured run's or Mooncake's lines), or a "
         "header "
         "line: TIMESTAMP,ContextTokens,GeneratedTokens; input,output; or one with Timestamp, Request tokens and "
         "Response tokens"},
    };
    for (const auto &[text, expected] : cases)
        BOOST_CHECK_EQUAL(refusal(text), expected);
}

// Every form, with requests at random without a prompt, an output, or both: as the file without their lines.
BOOST_AUTO_TEST_CASE(requests_without_tokens_are_left_out_and_counted) {
    std::mt19937 random(42);
    const auto below = [&random](std::uint32_t end) { return static_cast<std::uint32_t>(random() % end); };
    for (int round = 0; round < 400; round++) {
        const int form = round % 5;
        static const char *const headers[] = {"", "", "TIMESTAMP,ContextTokens,GeneratedTokens\n", "input,output\n",
                                              "Timestamp,Model,Request tokens,Response tokens\n"};
        std::string all = headers[form], left = all;
        std::uint64_t no_output = 0, no_prompt = 0, kept = 0, time = below(3);
        std::vector<std::uint64_t> ids, lines;
        const std::uint32_t count = 1 + below(12);
        for (std::uint32_t i = 0; i < count; i++) {
            const std::uint32_t prompt = below(4) ? 1 + below(1500) : 0, output = below(3) ? 1 + below(40) : 0;
            time += below(3);
            std::string blocks, line;
            const std::uint32_t each = form == 0 ? (prompt + output) / 16 : (prompt + 511) / 512;
            for (std::uint32_t k = 0; k < each; k++)
                blocks += (k ? ", " : "") + std::to_string(below(9));
            if (output == 0 && below(2)) blocks = "1, 2, 3, 4, 5"; // of a request that failed
            const std::string p = std::to_string(prompt), o = std::to_string(output), t = std::to_string(time);
            if (form == 0)
                line = "{\"id\": " + std::to_string(100 + i) + ", \"arrival_s\": " + t + ", \"input\": " + p +
                       ", \"output\": " + o + ", \"blocks\": [" + blocks + "]}";
            else if (form == 1)
                line = "{\"timestamp\": " + t + ", \"input_length\": " + p + ", \"output_length\": " + o +
                       ", \"hash_ids\": [" + blocks + "]}";
            else if (form == 2)
                line = "2024-05-10 00:00:" + std::string(t.size() < 2 ? "0" : "") + t + "+00:00," + p + "," + o;
            else if (form == 3)
                line = p + "," + o;
            else
                line = t + ".5,GPT-4," + p + "," + o;
            all += line + "\n";
            no_output += output == 0;
            no_prompt += prompt == 0 && output != 0;
            if (prompt == 0 || output == 0) continue;
            left += line + "\n";
            ids.push_back(form == 0 ? 100 + i : i);
            lines.push_back(i + 1 + (form > 1));
            kept++;
        }
        const parsed p(all, true), strict(all);
        BOOST_TEST_CONTEXT("round " << round << ": " << all) {
            BOOST_REQUIRE_MESSAGE(!p.status, p.error.text);
            BOOST_CHECK_EQUAL(p.requests.skipped.no_output, no_output);
            BOOST_CHECK_EQUAL(p.requests.skipped.no_prompt, no_prompt);
            BOOST_REQUIRE_EQUAL(p.requests.count, kept);
            BOOST_CHECK_EQUAL(strict.status == TLA_OK, kept == count);
            if (kept == 0) continue;
            const parsed q(left);
            BOOST_REQUIRE_MESSAGE(!q.status, q.error.text);
            BOOST_CHECK_EQUAL(p.requests.block_tokens, q.requests.block_tokens);
            for (std::size_t i = 0; i < kept; i++) {
                const tla_serving_request &a = p.requests.items[i], &b = q.requests.items[i];
                BOOST_CHECK_EQUAL(a.id, ids[i]);
                BOOST_CHECK_EQUAL(a.line, lines[i]);
                BOOST_CHECK_EQUAL(a.arrival_ns, b.arrival_ns);
                BOOST_CHECK_EQUAL(a.prompt_tokens, b.prompt_tokens);
                BOOST_CHECK_EQUAL(a.output_tokens, b.output_tokens);
                BOOST_CHECK_EQUAL_COLLECTIONS(a.blocks, a.blocks + a.block_count, b.blocks, b.blocks + b.block_count);
            }
        }
    }
}

// What is not a number of tokens is an error even where requests are left out.
BOOST_AUTO_TEST_CASE(damaged_lines_are_rejected_where_requests_are_left_out) {
    BOOST_CHECK_EQUAL(refusal("input,output\n1,0\n1,\n", true),
                      "file:3:3: found '', expected the output's tokens, 0 .. 2^31 - 1");
    BOOST_CHECK_EQUAL(refusal(with(burst, "\n5,ChatGPT,472,18", "\n46,ChatGPT,472,0"), true),
                      "file:3:1: found '45.25', expected a time not before the previous line's");
    BOOST_CHECK_EQUAL(refusal("input,output\n", true), "file:1:1: found no request, expected at least one");
    BOOST_CHECK_EQUAL(
        refusal(with(measured, "\"output\":9,\"blocks\":[7,8,9]", "\"output\":0,\"blocks\":[7,null]"), true),
        "file:1:59: found 'null', expected a block's number, 0 .. 2^64 - 1");
}

BOOST_AUTO_TEST_CASE(lengths_without_times_arrive_at_once) {
    const parsed p("input,output\r\n205,303\r\n434,765\r\n");
    BOOST_REQUIRE_MESSAGE(!p.status, p.error.text);
    BOOST_CHECK_EQUAL(p.requests.count, 2u);
    BOOST_CHECK_EQUAL(p.requests.items[1].arrival_ns, 0u);
    BOOST_CHECK_EQUAL(p.requests.items[1].prompt_tokens, 434u);
}

BOOST_AUTO_TEST_CASE(invalid_json_lines_are_rejected_with_their_place) {
    const std::vector<std::pair<std::string, std::string>> cases = {
        {measured.substr(0, measured.size() - 8),
         "file:2:56: found the end of the line, expected the end of a text; the last line has no newline: the "
         "file may be truncated"},
        {measured.substr(0, 90),
         "file:2:27: found the end of the line, expected ',' or '}'; the last line has no newline: the file may be "
         "truncated"},
        {with(measured, "\"output\":9", "\"output\":0"), "file:1:45: found '0', expected the output's tokens, 1 .. "
                                                         "2^31 - 1; --skip-unservable leaves out such requests"},
        {with(measured, "\"input\":40", "\"input\":2147483648"),
         "file:1:33: found '2147483648', expected the prompt's tokens, 1 .. 2^31 - 1"},
        {with(measured, "\"input\":40", "\"input\":40.0"),
         "file:1:33: found '40.0', expected the prompt's tokens, 1 .. 2^31 - 1"},
        {with(measured, "\"input\":40", "\"input\":\"40\""),
         "file:1:33: found '\"40\"', expected the prompt's tokens, 1 .. 2^31 - 1"},
        {with(measured, "\"arrival_s\":0.0", "\"arrival_s\":1"),
         "file:2:21: found '0.265091', expected a time not before the previous line's"},
        {with(measured, "\"arrival_s\":0.0", "\"arrival_s\":-1"),
         "file:1:21: found '-1', expected a time from 0 on, less than 292 years"},
        {with(measured, "\"arrival_s\":0.0", "\"arrival_s\":1e10"),
         "file:1:21: found '1e10', expected a time from 0 on, less than 292 years"},
        {with(measured, "\"input\":40,", ""), "file:1:1: \"input\" is missing"},
        {with(measured, "\"input\":40", "\"input\":40,\"input\":41"),
         "file:1:36: found '\"input\":41', expected a key that the object does not have already"},
        {with(measured, "[7,8,9]", "[7,8,-9]"), "file:1:61: found '-9', expected a block's number, 0 .. 2^64 - 1"},
        {with(measured, "[7,8,9]", "7"), "file:1:56: found '7', expected a list of numbers"},
        {with(measured, "[7,8,9]", "[7,8,9,10,11,12,13]"),
         "file:1:56: found 7 numbers for 49 tokens, expected one for each full block, as in other lines"},
        {with(measured, "\"id\":0", "\"id\":null"), "file:1:7: found 'null', expected an id, 0 .. 2^64 - 1"},
        {with(measured, "\n", "\n\n"), "file:2:1: found the end of the line, expected a value"},
        {with(measured, "}\n", "} 1\n"), "file:1:65: found '1', expected the end of the line"},
        {with(measured, "}\n", std::string("}\0\n", 3)), "file:1:64: found '?', expected the end of the line"},
        {with(measured, "}\n", "}\n[]\n"), "file:2:1: found '[', expected an object, a request"},
        {measured + conversation, "file:3:1: \"id\" is missing"},
        {with(conversation, "[46, 47]", "[46]"),
         "file:1:74: found 1 numbers, expected 2: one for each 512 tokens, the last partial"},
        {"{}", "file:1:1: \"timestamp\" is missing"},
    };
    for (const auto &[text, expected] : cases)
        BOOST_CHECK_EQUAL(refusal(text), expected);
}

BOOST_AUTO_TEST_CASE(invalid_tables_are_rejected_with_their_place) {
    const std::vector<std::pair<std::string, std::string>> cases = {
        {azure.substr(0, azure.size() - 5),
         "file:3:32: found 2 columns, expected 3: TIMESTAMP,ContextTokens,GeneratedTokens; the last line has no "
         "newline: the file may be truncated"},
        {with(azure, ",44", ",0"), "file:2:33: found '0', expected the output's tokens, 1 .. 2^31 - 1; "
                                   "--skip-unservable leaves out such requests"},
        {with(azure, "374", ""), "file:2:29: found '', expected the prompt's tokens, 1 .. 2^31 - 1"},
        {with(azure, "2023-12-31", "2023-02-30"),
         "file:2:1: found '2023-02-30 23:59:59.6805900', expected a time of the years 1970 to 2261 with at most 9 "
         "decimals, such as 2023-11-16 18:15:46.6805900"},
        {with(azure, "2023-12-31", "2023-13-31"),
         "file:2:1: found '2023-13-31 23:59:59.6805900', expected a time of the years 1970 to 2261 with at most 9 "
         "decimals, such as 2023-11-16 18:15:46.6805900"},
        {with(azure, "23:59:59", "23:59:60"),
         "file:2:1: found '2023-12-31 23:59:60.6805900', expected a time of the years 1970 to 2261 with at most 9 "
         "decimals, such as 2023-11-16 18:15:46.6805900"},
        {with(azure, ".9951690", "."), "file:3:1: found '2024-01-01 00:00:00.', expected a time of the years 1970 to "
                                       "2261 with at most 9 decimals, such as 2023-11-16 18:15:46.6805900"},
        {with(azure, "2024", "2022"),
         "file:3:1: found '2022-01-01 00:00:00.9951690', expected a time not before the previous line's"},
        {with(azure, "Generated", "Output"), "file:1:1: found 'TIMESTAMP,ContextTokens,OutputTokens', expected a JSON "
                                             "object (the measured run's or Mooncake's lines), or a header "
                                             "line: TIMESTAMP,ContextTokens,GeneratedTokens; input,output; or one with "
                                             "Timestamp, Request tokens and Response tokens"},
        {"input,output\n", "file:1:1: found no request, expected at least one"},
        {"input,output\n1,2,3\n", "file:2:5: found '3', expected the end of the line"},
        {"", "file:1:1: found '', expected a JSON object (the measured run's or Mooncake's lines), or a header "
             "line: TIMESTAMP,ContextTokens,GeneratedTokens; input,output; or one with "
             "Timestamp, Request tokens and Response tokens"},
    };
    for (const auto &[text, expected] : cases)
        BOOST_CHECK_EQUAL(refusal(text), expected);
}

BOOST_AUTO_TEST_CASE(a_file_truncated_at_any_length_is_whole_lines_or_rejected) {
    for (const std::string &text : {measured, conversation})
        for (std::size_t length = 0; length < text.size(); length++) {
            const parsed p(text.substr(0, length));
            const bool whole = length > 0 && (text[length] == '\n' || text[length - 1] == '\n');
            BOOST_CHECK_MESSAGE((p.status == TLA_OK) == whole, length << ": " << p.error.text);
        }
}

BOOST_AUTO_TEST_CASE(files_are_read_plain_or_rejected_with_their_name) {
    const scratch_directory scratch;
    tla_serving_requests requests;
    tla_error error{};
    BOOST_CHECK_EQUAL(tla_serving_requests_read(scratch.write("a", azure).c_str(), &requests, &error), TLA_OK);
    BOOST_CHECK_EQUAL(requests.count, 2u);
    tla_serving_requests_free(&requests);
    BOOST_CHECK_EQUAL(tla_serving_requests_read(scratch.write("b", "").c_str(), &requests, &error), TLA_SYNTAX);
    BOOST_CHECK_EQUAL(error.text, scratch.path("b") + ":1:1: the file is empty");
    BOOST_CHECK_EQUAL(tla_serving_requests_read(scratch.path("c").c_str(), &requests, &error), TLA_IO);
}

BOOST_AUTO_TEST_CASE(the_files_beside_the_project_are_read) {
    if (!shared_data_is_here("data/serving")) return;
    const std::vector<std::tuple<std::string, std::size_t, std::uint64_t>> files = {
        {"vllm_rtx4090_llama31_8b/requests.jsonl", 300, 16},
        {"mooncake/conversation_trace.jsonl.gz", 12031, 512},
        {"azure/AzureLLMInferenceTrace_conv.csv.gz", 19366, 0},
        {"lengths/sharegpt2023_like.csv", 4000, 0}};
    for (const auto &[name, count, block_tokens] : files) {
        tla_serving_requests requests;
        tla_error error{};
        const tla_status status =
            tla_serving_requests_read((shared_data + "data/serving/" + name).c_str(), &requests, &error);
        BOOST_CHECK_MESSAGE(!status, error.text);
        BOOST_CHECK_EQUAL(requests.count, count);
        BOOST_CHECK_EQUAL(requests.block_tokens, block_tokens);
        tla_serving_requests_free(&requests);
    }
}
