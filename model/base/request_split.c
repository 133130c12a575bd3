/* Splitting an access: the longest request that the shape allows, from the front. */
#include "request_split.h"
#include "numbers.h"

tla_request tla_request_next(const tla_request_shape *shape, uint64_t address, uint64_t nbytes) {
    const uint64_t lead = address & (shape->smallest - 1);
    if (lead > 0 || nbytes < shape->smallest)
        return (tla_request){address - lead, shape->smallest, lead, smaller(nbytes, shape->smallest - lead)};
    uint64_t length = smaller(nbytes, shape->largest - (address & (shape->largest - 1)));
    if (!shape->powers_of_two) {
        length -= length & (shape->smallest - 1); /* the rest is a wider request of its own */
        return (tla_request){address, length, 0, length};
    }
    uint64_t power = shape->smallest; /* divides address and fits into length */
    while (power <= length / 2 && (address & (2 * power - 1)) == 0)
        power *= 2;
    return (tla_request){address, power, 0, power};
}
