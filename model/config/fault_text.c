/* A fault plan as text. */
#include "tlmalloc/dram/fault_injection.h"
#include "value.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { WORD_MAX = 48 };

static const char *const kinds[TLA_FAULT_KIND_COUNT] = {[TLA_FAULT_CORRECTABLE] = "correctable",
                                                        [TLA_FAULT_UNCORRECTABLE] = "uncorrectable",
                                                        [TLA_FAULT_CHANNEL_OUT] = "channel_out",
                                                        [TLA_FAULT_REFUSE] = "refuse"};

enum { PE = 1, AT = 2, ADDRESS = 4, CHANNEL = 8, RATE = 16, BANK = 32 };

static const unsigned allowed[TLA_FAULT_KIND_COUNT] = {[TLA_FAULT_CORRECTABLE] = PE | AT | ADDRESS | RATE,
                                                       [TLA_FAULT_UNCORRECTABLE] = PE | AT | ADDRESS | RATE,
                                                       [TLA_FAULT_CHANNEL_OUT] = PE | AT | CHANNEL | BANK,
                                                       [TLA_FAULT_REFUSE] = PE | AT | RATE};

/* A whole number up to max, decimal or 0x. */
static bool read_number(const char *text, uint64_t max, uint64_t *number) {
    if (*text < '0' || *text > '9') return false;
    char *end;
    errno = 0;
    *number = strtoull(text, &end, strncmp(text, "0x", 2) == 0 ? 16 : 10);
    return errno == 0 && *end == '\0' && *number <= max;
}

static tla_status read_field(const char *word, tla_fault *fault, unsigned *seen, tla_error *error) {
    static const struct {
        const char *name;
        unsigned bit;
        uint64_t max;
        const char *expected;
    } fields[] = {{"pe=", PE, INT32_MAX, "a PE's number"},
                  {"address=", ADDRESS, INT64_MAX, "an offset in bytes"},
                  {"channel=", CHANNEL, UINT32_MAX, "a pseudo-channel's number"},
                  {"bank=", BANK, UINT32_MAX, "a bank's number"},
                  {"rate=", RATE, 1000000, "a rate of 1 .. 1000000 in a million"},
                  {"at=", AT, 0, ""}};
    size_t i = 0, count = sizeof fields / sizeof fields[0];
    while (i < count && strncmp(word, fields[i].name, strlen(fields[i].name)) != 0)
        i++;
    if (i == count || !(allowed[fault->kind] & fields[i].bit) || *seen & fields[i].bit)
        return tla_error_set(error, TLA_SYNTAX, "found %s of a fault %s, expected %s", tla_quote(word).text,
                             kinds[fault->kind],
                             i < count && *seen & fields[i].bit     ? "it once"
                             : fault->kind == TLA_FAULT_CHANNEL_OUT ? "pe=, at=, channel= or bank="
                             : fault->kind == TLA_FAULT_REFUSE      ? "pe=, at= or rate="
                                                                    : "pe=, at=, address= or rate=");
    *seen |= fields[i].bit;
    const char *text = word + strlen(fields[i].name);
    if (fields[i].bit == AT) return tla_number_parse(TLA_VALUE_TIME, text, &fault->at_ps, error) ? TLA_SYNTAX : TLA_OK;
    uint64_t number;
    if (!read_number(text, fields[i].max, &number) || (fields[i].bit == RATE && number == 0))
        return tla_error_set(error, TLA_SYNTAX, "found %s, expected %s", tla_quote(word).text, fields[i].expected);
    switch (fields[i].bit) {
    case PE:
        fault->pe = (int32_t)number;
        break;
    case ADDRESS:
        fault->address = number;
        fault->has_address = true;
        break;
    case CHANNEL:
        fault->channel = (uint32_t)number;
        break;
    case BANK:
        fault->bank = (uint32_t)number;
        fault->has_bank = true;
        break;
    default:
        fault->rate = (uint32_t)number;
    }
    return TLA_OK;
}

/* Copies the next word of [*text, end) to `word`; false without a word. A long word is cut, and is then unknown. */
static bool next_word(const char **text, const char *end, char word[WORD_MAX]) {
    while (*text < end && **text == ' ')
        ++*text;
    size_t length = 0;
    for (; *text < end && **text != ' '; ++*text)
        if (length < WORD_MAX - 1) word[length++] = **text;
    word[length] = '\0';
    return length > 0;
}

static tla_status read_fault(const char *text, const char *end, tla_fault *fault, tla_error *error) {
    char word[WORD_MAX];
    *fault = (tla_fault){.pe = TLA_FAULT_EVERY_PE};
    int kind = 0;
    next_word(&text, end, word);
    while (kind < TLA_FAULT_KIND_COUNT && strcmp(word, kinds[kind]) != 0)
        kind++;
    if (kind == TLA_FAULT_KIND_COUNT)
        return tla_error_set(error, TLA_SYNTAX,
                             "found %s, expected a fault: correctable, uncorrectable, channel_out or refuse",
                             tla_quote(word).text);
    fault->kind = (tla_fault_kind)kind;
    unsigned seen = 0;
    while (next_word(&text, end, word)) {
        tla_status status = read_field(word, fault, &seen, error);
        if (status) return status;
    }
    if (kind == TLA_FAULT_CHANNEL_OUT && !(seen & CHANNEL))
        return tla_error_set(error, TLA_SYNTAX, "found channel_out without a channel=");
    if (seen & ADDRESS && seen & RATE)
        return tla_error_set(error, TLA_SYNTAX, "found address= and rate= of one fault, expected one of them");
    return TLA_OK;
}

tla_status tla_fault_injection_parse(const char *text, tla_fault_injection *plan, tla_error *error) {
    tla_fault_injection read = {.seed = plan->seed};
    if (strcmp(text, "none") != 0)
        for (const char *end = text; end; text = end + 1) {
            end = strchr(text, ';');
            if (read.count == TLA_FAULTS_MAX)
                return tla_error_set(error, TLA_SYNTAX, "found more than %d faults", TLA_FAULTS_MAX);
            tla_status status = read_fault(text, end ? end : text + strlen(text), &read.faults[read.count++], error);
            if (status) return status;
            if (!end) break;
        }
    *plan = read;
    return TLA_OK;
}
