// The first object of a program that is checked as it is: where its static variables begin (image.hpp).
extern "C" {
alignas(64) char apiary_data_begins[64] = {1};
alignas(64) char apiary_zeroes_begin[64];
}
