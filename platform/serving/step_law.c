/* Laws by their texts, and the fixed one. */
#include "serving/step_law.h"

#include "model/base/suggest.h"
#include "model/config/value.h"
#include "serving/profile_law.h"

#include <stdlib.h>
#include <string.h>

typedef struct fixed_law {
    uint64_t step_ps, token_ps;
} fixed_law;

static tla_status fixed_time(void *context, const tla_step *step, tla_step_time *time, tla_error *error) {
    const fixed_law *law = context;
    uint64_t ps;
    if (__builtin_mul_overflow(law->token_ps, step->tokens, &ps) || __builtin_add_overflow(ps, law->step_ps, &ps))
        return tla_error_set(error, TLA_LIMIT, "a step takes 2^64 ps or more");
    *time = (tla_step_time){.compute_ns = ps / 1000 + (ps % 1000 >= 500)};
    return TLA_OK;
}

static tla_status refuse(const char *text, tla_error *error) {
    return tla_error_set(error, TLA_SYNTAX,
                         "found %s, expected \"fixed TIME + TIME/token\" (such as \"fixed 10 ms + 100 us/token\"), "
                         "\"profile DIR\", \"platform CONFIG\", or \"platform CONFIG + \" and one of the first two",
                         tla_quote(text).text);
}

/* A time, spaces around it allowed. */
static bool parse_time(const char *begin, const char *end, uint64_t *ps, tla_error *error) {
    char text[64];
    while (begin < end && *begin == ' ')
        begin++;
    while (end > begin && end[-1] == ' ')
        end--;
    const size_t length = (size_t)(end - begin);
    if (length >= sizeof text) return false;
    memcpy(text, begin, length);
    text[length] = '\0';
    return tla_number_parse(TLA_VALUE_TIME, text, ps, error) == TLA_OK;
}

static tla_status parse_fixed(const char *whole, const char *terms, tla_step_law *law, tla_error *error) {
    static const char each[] = "/token";
    const size_t length = strlen(terms);
    const char *plus = strchr(terms, '+');
    const size_t suffix = sizeof each - 1;
    fixed_law fixed = {0};
    tla_error why = {.text = ""};
    bool good = parse_time(terms, plus ? plus : terms + length, &fixed.step_ps, &why);
    if (good && plus)
        good = length > suffix && strcmp(terms + length - suffix, each) == 0 &&
               parse_time(plus + 1, terms + length - suffix, &fixed.token_ps, &why);
    if (!good && *why.text) return tla_error_set(error, TLA_SYNTAX, "%s: %s", tla_quote(whole).text, why.text);
    if (!good) return refuse(whole, error);
    fixed_law *made = malloc(sizeof *made);
    if (!made) return tla_error_set(error, TLA_NO_HOST_MEMORY, "no host memory for the law of steps");
    *made = fixed;
    *law = (tla_step_law){.time = fixed_time, .destroy = free, .context = made};
    return TLA_OK;
}

/* Returns the text after the word, or NULL when the text begins with another word. */
static const char *after(const char *text, const char *word) {
    const size_t length = strlen(word);
    if (strncmp(text, word, length) != 0 || text[length] != ' ') return NULL;
    return text + length + strspn(text + length, " ");
}

tla_status tla_step_law_parse(const char *text, const tla_serving_settings *settings, tla_step_law *law,
                              tla_error *error) {
    *law = (tla_step_law){0};
    const char *rest;
    if ((rest = after(text, "fixed"))) return parse_fixed(text, rest, law, error);
    if ((rest = after(text, "profile")) && *rest) return profile_law_load(rest, settings, law, error);
    if ((rest = after(text, "platform")) && *rest)
        return tla_error_set(error, TLA_UNSUPPORTED, "%s: the LAW of a platform must be fixed or profile, not platform",
                             tla_quote(text).text);
    return refuse(text, error);
}

void tla_step_law_clear(tla_step_law *law) {
    if (law->destroy) law->destroy(law->context);
    *law = (tla_step_law){0};
}
