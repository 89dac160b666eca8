#include "sabotage.hpp"

constexpr sabotage kind = sabotage::APIARY_SABOTAGE;
constexpr std::string_view kind_name = APIARY_SABOTAGE_NAME;
